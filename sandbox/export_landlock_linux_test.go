package sandbox

import (
	"encoding/binary"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// SharedFilter is the program of system calls without namespaces.
func SharedFilter(allow []string) ([]bpf.Instruction, error) {
	rules, err := refusals(filterOptions{allow: allow, shared: true})
	if err != nil {
		return nil, err
	}
	return filterProgram(rules), nil
}

// InstallBareFilter puts a filter on the calling thread that takes namespaces
// and Landlock away.
func InstallBareFilter() error {
	rules, err := refusals(filterOptions{unnamedFiles: true})
	if err != nil {
		return err
	}
	rules = append([]refusalRule{{number: unix.SYS_LANDLOCK_CREATE_RULESET, errno: unix.ENOSYS}}, rules...)
	raw, err := bpf.Assemble(filterProgram(rules))
	if err != nil {
		return err
	}
	var b []byte
	for _, in := range raw {
		b = binary.NativeEndian.AppendUint16(b, in.Op)
		b = append(b, in.Jt, in.Jf)
		b = binary.NativeEndian.AppendUint32(b, in.K)
	}
	return install(b)
}
