# the API: times of items are nanoseconds since 1970 (integers); since=RFC 3339 means "from" (>=)
import http.server,urllib.parse,re,calendar,time,json
def ns(t):
    m=re.fullmatch(r'(.*?)(\.\d+)?Z',t); return calendar.timegm(time.strptime(m[1],'%Y-%m-%dT%H:%M:%S'))*10**9+int(((m[2] or '.0')[1:]+'0'*9)[:9])
class H(http.server.BaseHTTPRequestHandler):
    def log_message(s,*a): pass
    def do_GET(s):
        q=dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(s.path).query)); rows=json.load(open('rows'))
        if 'since' in q: rows=[r for r in rows if r['u']>=ns(q['since'])]
        print(s.path,'->',rows,flush=True)
        b=json.dumps(rows).encode(); s.send_response(200); s.send_header('Content-Type','application/json'); s.send_header('Content-Length',str(len(b))); s.end_headers(); s.wfile.write(b)
h=http.server.HTTPServer(('127.0.0.1',0),H); open('port','w').write(str(h.server_address[1])); h.serve_forever()
