package runtime

import (
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/spool"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// noticeBeyond shows the watcher the pages after the end of a complete list: they were requested ahead of their
// turn, and have arrived. A page that has not arrived is not waited for.
func (r *listRun) noticeBeyond() {
	if r.state.Result.Outcome != rules.Complete {
		return
	}
	for _, f := range r.queue.Unread() {
		r.readBeyond(f.Call.Page, f.Response)
	}
}

// readBeyond shows the watcher a page after the end of the list, unless it is malformed. The reader of the list still
// has the last page, so another one reads it.
func (r *listRun) readBeyond(number int, response *transport.Response) {
	options := r.readerOptions(r.job)
	options.Paths, options.Items, options.Places, options.Decode = nil, nil, nil, false
	options.Warn = func(string, string) {}
	page := documentOf(response)
	if converter := r.newConverter(r.job); converter != nil {
		buffer := &spool.Buffer{}
		defer buffer.Release()
		done, err := converter.Convert(bodyOf(response, response.Body), buffer)
		if done && err == nil {
			page.Body, page.Mapping, err = buffer.Body()
		}
		if err != nil {
			return
		}
	}
	reader := document.NewReader(options)
	defer reader.Close()
	if reading, err := reader.Read(page); err == nil {
		r.watcher.NoticeBeyond(number, reading)
	}
}
