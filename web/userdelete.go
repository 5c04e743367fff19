package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"

	"fawn/store"
	"fawn/web/account"
)

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

// belongings returns the belongings of this server's users.
func (a *App) belongings() belongings {
	return belongings{db: a.data.db, runs: a.engine.runs, agents: a.library.agents, memory: a.engine.memory,
		projects: a.engine.projects, knowledge: a.engine.knowledge}
}
