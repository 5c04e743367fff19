package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"fawn/agent/config"
	"fawn/store"
	"fawn/web/account"
)

// UserJob is a job of the command fawn user.
type UserJob struct {
	Do     string `json:"do"` // list, add, role, disable, enable, reset, owned or delete
	Email  string `json:"email"`
	Role   string `json:"role"`
	Factor bool   `json:"factor"` // reset also removes the second factor
	Keep   bool   `json:"keep"`   // delete keeps the account's data
}

// consoleName is the socket in the data folder through which the console reaches a running server.
// Anyone who can open it owns the folder anyway.
const consoleName = "console.sock"

// Time limits of a console's request, and of its job: a user may have many chats.
const (
	consoleTime = time.Minute
	consoleJob  = 30 * time.Minute
)

// ErrUserJob matches refused jobs; the text has the reason.
type ErrUserJob struct{ Why string }

// Error returns the reason.
func (e *ErrUserJob) Error() string { return e.Why }

// Users works on the accounts of a data folder, whether a server runs on it or not.
func Users(ctx context.Context, o Options, job UserJob) error {
	dir, err := config.DataDir(o.Data)
	if err != nil {
		return err
	}
	if err := Ready(dir, o.Log); err != nil {
		return err
	}
	db, dirs, err := OpenStore(ctx, o, dir)
	if locked, ok := errors.AsType[*store.LockedError](err); ok {
		return askServer(ctx, dir, o.Out, job, locked)
	}
	if err != nil {
		return err
	}
	s := account.New(account.Options{DB: db, Log: o.Log, Required: true})
	b, done, err := offlineUserData(dirs, db, o.Log)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	s.RemoveOwned, s.Rerole = b.remove, b.projects.Rerole
	if db.Clustered() { // otherwise nothing runs
		s.StopOwned = b.stop
	}
	return errors.Join(runUserJob(ctx, s, b, "http://ADDRESS-OF-THE-SERVER", o.Out, job), done(), db.Close())
}

// runUserJob runs a job and returns its output. base is the address in front of links.
func runUserJob(ctx context.Context, s *account.Service, b userData, base string, out io.Writer, job UserJob) error {
	if job.Do == "list" {
		return listUsers(ctx, s, out)
	}
	if job.Do == "add" {
		return addUser(ctx, s, base, out, job)
	}
	u, err := s.ByEmail(ctx, job.Email)
	if errors.Is(err, store.ErrNotFound) {
		return &ErrUserJob{fmt.Sprintf("there is no user %s; fawn user list shows who is there", job.Email)}
	}
	if err != nil {
		return err
	}
	switch job.Do {
	case "role":
		if err = s.SetRole(ctx, u.ID, job.Role); err == nil {
			_, err = fmt.Fprintf(out, "%s is now %s\n", u.Email, job.Role)
		}
	case "disable", "enable":
		if err = s.SetDisabled(ctx, u.ID, job.Do == "disable"); err == nil {
			_, err = fmt.Fprintf(out, "%s is %sd\n", u.Email, job.Do)
		}
	case "owned":
		var what string
		if what, err = b.tell(ctx, u.ID); err == nil {
			_, err = fmt.Fprintf(out, "%s has %s.\n", u.Email, what)
		}
	case "delete":
		err = deleteUser(ctx, s, out, u, job.Keep)
	case "reset":
		err = resetUser(ctx, s, base, out, u, job.Factor)
	default:
		err = &ErrUserJob{fmt.Sprintf("there is no job %q", job.Do)}
	}
	return refusedJob(err)
}

// refusedJob turns an error of a job into an ErrUserJob.
func refusedJob(err error) error {
	for _, why := range []error{account.ErrLastOwner, account.ErrRole, account.ErrEmail, account.ErrEmailTaken} {
		if errors.Is(err, why) {
			return &ErrUserJob{why.Error()}
		}
	}
	return err
}

func listUsers(ctx context.Context, s *account.Service, out io.Writer) error {
	list, err := s.List(ctx)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		_, err := fmt.Fprintln(out, "There are no users.")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "EMAIL\tROLE\tSTATE\tSINCE")
	for _, u := range list {
		state := "active"
		if u.Disabled {
			state = "disabled"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", u.Email, u.Role, state, u.CreatedAt.Format(time.DateOnly))
	}
	return w.Flush()
}

func addUser(ctx context.Context, s *account.Service, base string, out io.Writer, job UserJob) error {
	needs, err := s.NeedsSetup(ctx)
	if err != nil {
		return err
	}
	var token string
	if needs {
		token, err = s.SetupLink(ctx)
	} else {
		token, err = s.InviteLink(ctx, job.Email, job.Role)
	}
	if err != nil {
		return refusedJob(err)
	}
	if needs {
		_, err = fmt.Fprintf(out, "The first account is the owner's. To create it, open this link once:\n  %s\n",
			base+account.SetupPath(token))
		return err
	}
	_, err = fmt.Fprintf(out, "For %s to join, this link can be opened once, for seven days:\n  %s\n", job.Email,
		base+account.SetupPath(token))
	return err
}

func resetUser(ctx context.Context, s *account.Service, base string, out io.Writer, u store.User, factor bool) error {
	if factor {
		for _, kind := range []string{"totp", "recovery", "passkey"} {
			if err := s.DB.DeleteFactors(ctx, u.ID, kind); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintf(out, "The second factor of %s is removed.\n", u.Email); err != nil {
			return err
		}
	}
	token, err := s.ResetLink(ctx, u.ID)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "To give %s a new password, open this link once, within a day:\n  %s\n", u.Email,
		base+account.ResetPath(token))
	return err
}

// jobResult is a server's answer to a job of the console.
type jobResult struct {
	Out string `json:"out"`
	Why string `json:"why"` // reason of a job that was refused
}

// askServer makes the server that uses the folder do a job.
func askServer(ctx context.Context, dir string, out io.Writer, job UserJob, locked *store.LockedError) error {
	var dial net.Dialer
	client := &http.Client{Timeout: consoleJob, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial.DialContext(ctx, "unix", filepath.Join(dir, consoleName))
		}}}
	body, err := json.Marshal(job)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://console/user", bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if errors.Is(err, os.ErrNotExist) {
		return locked
	}
	if err != nil {
		return fmt.Errorf("contact the server that uses %s: %w. Stop it, and try again", dir, err)
	}
	defer res.Body.Close()
	var r jobResult
	err = json.NewDecoder(io.LimitReader(res.Body, 16<<20)).Decode(&r)
	if err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("contact the server that uses %s: it answered with %s", dir, res.Status)
	}
	if _, err := io.WriteString(out, r.Out); err != nil {
		return err
	}
	if r.Why != "" {
		return &ErrUserJob{r.Why}
	}
	return nil
}

// openConsole listens for jobs of the command line. A folder whose path is too long for a socket has none.
func (a *App) openConsole(ctx context.Context) {
	name := filepath.Join(a.data.dirs.Root, consoleName)
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) { // of a server that was killed
		a.opts.Log.Warn("fawn user needs the server stopped", "err", err)
		return
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "unix", name)
	if err != nil {
		a.opts.Log.Info("fawn user needs the server stopped", "err", err)
		return
	}
	if err := os.Chmod(name, 0o600); err != nil {
		a.opts.Log.Warn("fawn user needs the server stopped", "err", errors.Join(err, l.Close()))
		return
	}
	server := &http.Server{Handler: http.HandlerFunc(a.console), ReadTimeout: consoleTime, MaxHeaderBytes: 16 << 10}
	a.background.work.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			a.opts.Log.Warn("fawn user needs the server stopped", "err", err)
		}
	})
	a.background.work.Go(func() {
		<-ctx.Done()
		if err := server.Close(); err != nil {
			a.opts.Log.Warn("couldn't close the socket of the console", "err", err)
		}
	})
}

// console runs a job of the console.
func (a *App) console(w http.ResponseWriter, r *http.Request) {
	var job UserJob
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&job)
	if err != nil || r.URL.Path != "/user" {
		http.Error(w, "not a job", http.StatusBadRequest)
		return
	}
	var out bytes.Buffer
	result := jobResult{}
	if err := runUserJob(r.Context(), a.people.accounts, a.userData(), a.URL(), &out, job); err != nil {
		result.Why = err.Error()
	}
	result.Out = out.String()
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(result); err != nil {
		a.opts.Log.Warn("couldn't answer the console", "err", err)
	}
}

// DeleteUser deletes an account with everything it owns, after listing it and asking for confirmation; keep leaves the
// data, and sure skips the question. The answer is a line of in.
func DeleteUser(ctx context.Context, o Options, in io.Reader, email string, keep, sure bool) error {
	if !keep && !sure {
		if err := Users(ctx, o, UserJob{Do: "owned", Email: email}); err != nil {
			return err
		}
		_, err := fmt.Fprint(o.Out, "All of it is deleted with the account, also files, settings and tokens. There is no way back. Go on? [y/N] ")
		if err != nil {
			return err
		}
		line, _ := bufio.NewReader(io.LimitReader(in, 100)).ReadString('\n')
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
		default:
			return &ErrUserJob{"nothing was deleted: say y, or use --yes; --keep-data deletes the account only"}
		}
	}
	return Users(ctx, o, UserJob{Do: "delete", Email: email, Keep: keep})
}

// deleteUser deletes a user for the console.
func deleteUser(ctx context.Context, s *account.Service, out io.Writer, u store.User, keep bool) error {
	if err := s.Delete(ctx, u.ID, keep); err != nil {
		return err
	}
	what := "with all that it owned"
	if keep {
		what = "its chats and files stay in the data folder"
	}
	_, err := fmt.Fprintf(out, "the account of %s is deleted, %s\n", u.Email, what)
	return err
}

// userData returns the data of this server's users.
func (a *App) userData() userData {
	return userData{db: a.data.db, runs: a.engine.runs, agents: a.library.agents, memory: a.engine.memory,
		projects: a.engine.projects, knowledge: a.engine.knowledge}
}
