//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A process is one of those of a round. It and its children are a group.
type process struct {
	*exec.Cmd
	order order
	ended chan struct{} // closed when it has ended
	err   error         // with which it has ended
}

// start starts a process, whose log goes to a file.
func start(role string, o order, log string) (*process, error) {
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	p := &process{Cmd: exec.Command(os.Args[0]), order: o, ended: make(chan struct{})}
	p.Env = append(os.Environ(), roleVariable+"="+role, orderVariable+"="+string(text), secretVariable+"="+secretOf(o.Name))
	p.Stdout, p.Stderr = out, out
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.Start(); err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "%s -- %s %s is process %d\n", time.Now().Format("15:04:05.000"), role, o.Name, p.Process.Pid)
	go func() {
		p.err = p.Wait()
		close(p.ended)
	}()
	return p, nil
}

// signal sends a signal to the process, and not to its children.
func (p *process) signal(s syscall.Signal) { _ = p.Process.Signal(s) }

// end ends the process and its children, also if they are frozen, and waits for it.
func (p *process) end() {
	_ = syscall.Kill(-p.Process.Pid, syscall.SIGKILL)
	<-p.ended
}

// running reports whether the process has not ended.
func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}
