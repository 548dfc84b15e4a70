package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/runtime/credential"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// tokensSuffix ends the name of the file of refresh tokens that belongs to a state.
const tokensSuffix = ".tokens"

// tokensPath returns the file of refresh tokens: the value of --tokens or, without that flag, a
// file next to the state. It returns "" without --tokens and --state.
func (x *extraction) tokensPath() string {
	if x.tokens == "" && x.state != "" {
		return x.state + tokensSuffix
	}
	return x.tokens
}

// tokenFile stores refresh tokens in a file that only its owner can read. Several
// processes may use it.
type tokenFile struct {
	path     string
	renewals *waits // updates that a signal must not interrupt
}

// openTokens returns the store of refresh tokens in a file, or nil if the path is empty.
func (a *app) openTokens(path string) (credential.Store, error) {
	if path == "" {
		return nil, nil
	}
	file, err := resolve(path)
	if err != nil {
		return nil, files.WriteError(err)
	}
	if file, err = filepath.Abs(file); err != nil {
		return nil, files.WriteError(err)
	}
	store := tokenFile{file, &a.renewals}
	lock, err := tryLock(file + lockSuffix)
	if err != nil {
		return nil, files.WriteError(err)
	}
	if lock != nil { // otherwise the process that holds it has done this
		err = errors.Join(store.adopt(), lock.Close())
	}
	if err == nil {
		_, err = store.read()
	}
	return store, files.WriteError(err)
}

// savedTokens is the content of the file.
type savedTokens struct {
	Version int               `json:"version"`
	Tokens  map[string]string `json:"tokens"` // refresh tokens, by the key of the credentials
}

const (
	tokensVersion   = 1
	maxTokensBytes  = 16 << 20
	maxTokenBytes   = 64 << 10              // room for a new token
	tokensRetryWait = 50 * time.Millisecond // between two attempts to lock the file
)

// Update implements [credential.Store].
func (f tokenFile) Update(ctx context.Context, key string, change func(string) (string, error)) error {
	lock := flock.New(f.path + lockSuffix)
	if _, err := lock.TryLockContext(ctx, tokensRetryWait); err != nil {
		return files.WriteError(errors.Join(err, lock.Close()))
	}
	defer lock.Close()
	return f.renewals.during(func() error { return f.replace(key, change) })
}

// replace replaces a token in the file, which is locked. The new file has its room on the disk
// before change requests a token: the old token may end with that request.
func (f tokenFile) replace(key string, change func(string) (string, error)) error {
	if err := f.adopt(); err != nil {
		return files.WriteError(err)
	}
	saved, err := f.read()
	if err != nil {
		return err
	}
	text, err := saved.encode()
	if err != nil {
		return err
	}
	file, err := files.Replace(f.path, files.Private, len(text)+maxTokenBytes)
	if err != nil {
		return files.WriteError(fmt.Errorf("no refresh token is used, because a new one could not be stored: %w", err))
	}
	defer func() { _ = file.Cancel() }() // removes the file if it was not committed
	token, err := change(saved.Tokens[key])
	if err != nil || token == "" {
		return err
	}
	saved.Tokens[key] = token
	if text, err = saved.encode(); err == nil {
		err = file.Commit(text)
	}
	return files.WriteError(err)
}

// adopt gives the newest complete file that a killed process has left its name, if it is newer than
// the file of that name, and removes the others. The file is locked.
func (f tokenFile) adopt() error {
	for _, path := range files.Leftovers(f.path) {
		found, err := os.Lstat(path)
		if err != nil {
			return err
		}
		current, err := os.Stat(f.path)
		newer := errors.Is(err, fs.ErrNotExist) || err == nil && !found.ModTime().Before(current.ModTime())
		if _, err = readTokens(path); err == nil && newer && found.Mode().IsRegular() {
			err = os.Rename(path, f.path)
		} else {
			err = os.Remove(path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s savedTokens) encode() ([]byte, error) {
	text, err := json.MarshalIndent(s, "", "  ")
	return append(text, '\n'), err
}

// read returns the tokens in the file. A missing file has no tokens.
func (f tokenFile) read() (savedTokens, error) {
	saved, err := readTokens(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return savedTokens{Version: tokensVersion, Tokens: map[string]string{}}, nil
	}
	if err != nil {
		return saved, &engine.Error{
			Class: failure.State, Op: "tokens", Message: fmt.Sprintf("the refresh tokens in %s cannot be read: %v", f.path, err), Err: err,
			Hint: "remove the file, or name another one with --tokens; the token of the configuration is then used",
		}
	}
	return saved, nil
}

func readTokens(path string) (saved savedTokens, err error) {
	text, err := files.ReadAtMost(path, maxTokensBytes)
	if err == nil && len(text) == 0 {
		err = errors.New("it is empty")
	}
	if err == nil {
		err = json.Unmarshal(text, &saved)
	}
	if err == nil && (saved.Version != tokensVersion || saved.Tokens == nil) {
		err = errors.New("it is not a file of tokens of this version")
	}
	return saved, err
}
