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
	"github.com/stopwhen/stopwhen/engine/checkpoint"
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
		return nil, outputError(err)
	}
	if file, err = filepath.Abs(file); err != nil {
		return nil, outputError(err)
	}
	store := tokenFile{file, &a.renewals}
	_, err = store.read()
	return store, err
}

// savedTokens is the content of the file.
type savedTokens struct {
	Version int               `json:"version"`
	Tokens  map[string]string `json:"tokens"` // refresh tokens, by the key of the credentials
}

const (
	tokensVersion   = 1
	maxTokensBytes  = 16 << 20
	tokensRetryWait = 50 * time.Millisecond // between two attempts to lock the file
)

// Update implements [credential.Store].
func (f tokenFile) Update(ctx context.Context, key string, change func(string) (string, error)) error {
	lock := flock.New(f.path + lockSuffix)
	if _, err := lock.TryLockContext(ctx, tokensRetryWait); err != nil {
		return outputError(errors.Join(err, lock.Close()))
	}
	defer lock.Close()
	return f.renewals.during(func() error { return f.replace(key, change) })
}

// replace replaces a token in the file, which is locked.
func (f tokenFile) replace(key string, change func(string) (string, error)) error {
	saved, err := f.read()
	if err != nil {
		return err
	}
	token, err := change(saved.Tokens[key])
	if err != nil || token == "" {
		return err
	}
	saved.Tokens[key] = token
	text, err := json.MarshalIndent(saved, "", "  ")
	if err == nil {
		err = checkpoint.WriteFile(f.path, append(text, '\n'))
	}
	return outputError(err)
}

// read returns the tokens in the file. A missing or empty file has no tokens.
func (f tokenFile) read() (savedTokens, error) {
	saved := savedTokens{Version: tokensVersion, Tokens: map[string]string{}}
	text, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(text) == 0 {
		return saved, nil
	}
	if err == nil && len(text) > maxTokensBytes {
		err = fmt.Errorf("it has more than %d bytes", maxTokensBytes)
	}
	if err == nil {
		err = json.Unmarshal(text, &saved)
	}
	if err == nil && (saved.Version != tokensVersion || saved.Tokens == nil) {
		err = errors.New("it is not a file of tokens of this version")
	}
	if err != nil {
		return saved, &engine.Error{
			Class: failure.State, Op: "tokens", Message: fmt.Sprintf("the refresh tokens in %s cannot be read: %v", f.path, err), Err: err,
			Hint: "name another file with --tokens; the token of the configuration is then used",
		}
	}
	return saved, nil
}
