package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"fawn/web/cli"
	"fawn/web/eval"
)

func evalCommand(c *invocation) func() error {
	var e cli.Evaluation
	e.Progress = c.stderr
	c.Func("model", "`NAME` of a model; can be given several times, each answers all questions (default: the configuration's)",
		func(name string) error {
			e.Models = append(e.Models, name)
			return nil
		})
	modeFlag(c, &e.Mode)
	c.StringVar(&e.Agent, "agent", "", "`NAME` of a custom agent")
	c.StringVar(&e.Skill, "skill", "deep-research", "`NAME` of the skill that questions are asked with; none for no skill")
	c.StringVar(&e.Judge, "judge", "", "`MODEL` that judges the answers, too")
	c.StringVar(&e.Out, "out", "", "`DIR` where results are kept (default: results/MODEL in the folder of the questions)")
	c.Func("only", "`ID` of a question; can be given several times (default: all)", func(id string) error {
		e.Only = append(e.Only, id)
		return nil
	})
	c.BoolVar(&e.Again, "again", false, "ask also what has been answered before")
	e.Jobs = 1
	c.Func("jobs", "`N` questions at a time (default: 1)", func(text string) (err error) {
		if e.Jobs, err = strconv.Atoi(text); err != nil || e.Jobs < 1 || e.Jobs > 64 {
			return errors.New("must be a number from 1 to 64")
		}
		return nil
	})
	e.Timeout = 30 * time.Minute
	c.Func("timeout", "`TIME` after which a question is given up, such as 10m (default: 30m)", func(text string) (err error) {
		if e.Timeout, err = time.ParseDuration(text); err != nil || e.Timeout <= 0 {
			return errors.New("must be a number with a unit, such as 90s, 10m or 1h30m")
		}
		return nil
	})
	goal := func(name, text string, into *int) {
		c.Func(name, "`PERCENT` "+text, func(value string) (err error) {
			if *into, err = strconv.Atoi(strings.TrimSuffix(value, "%")); err != nil || *into < 0 || *into > 100 {
				return errors.New("must be a number from 0 to 100")
			}
			return nil
		})
	}
	goal("min-citations", "of the citations that have to hold, else the exit code is 1", &e.Citations)
	goal("min-coverage", "of the key points that have to be covered, else the exit code is 1", &e.Coverage)
	c.BoolVar(&e.NoForbidden, "no-forbidden", false, "exit with 1 if an answer makes a forbidden claim")
	c.BoolVar(&e.JSON, "json", false, "print the reports as JSON instead of tables")
	c.BoolVar(&e.Verbose, "verbose", false, "show the log of the server")
	return func() error {
		if e.Skill == "none" {
			e.Skill = ""
		}
		e.Dir = c.word(0)
		err := checked(cli.Evaluate(c, *c.o, e))
		if err != nil && errors.Is(err, context.Canceled) && c.Err() != nil {
			fmt.Fprintln(c.stderr, "Interrupted. What was answered is kept: the same command goes on from here.")
			return exitCode(exitCancelled)
		}
		return err
	}
}

func evalMakeCommand(c *invocation) func() error {
	seed := c.Uint64("seed", 1, "`N` chooses names and numbers of the pages")
	return func() error {
		made, err := eval.WriteSample(c.word(0), *seed)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.stdout, "%s: %d questions, %d pages\nNow: fawn eval %[1]s\n", c.word(0), made.Questions, made.Pages)
		return err
	}
}
