package history_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// clockOff says to a child by how many seconds its clock is off.
const clockOff = "FAWN_TEST_CLOCK"

// clocks are how far those of the servers are off.
var clocks = []time.Duration{0, time.Hour, -time.Hour}

// sinceYear1885 is what time.Now adds to the seconds of the system.
const sinceYear1885 = 2682288000

// setClock has this process live in another hour: every time.Now of it, also those of its libraries, tells a time that
// is off. There is no other way, as the system has one clock of the day for all processes, and a Go program asks it
// without a library that could be replaced: a constant in the machine code of time.Now is changed.
func setClock() error {
	off, err := strconv.Atoi(os.Getenv(clockOff))
	if err != nil || off == 0 || runtime.GOARCH != "amd64" {
		return err
	}
	at := reflect.ValueOf(time.Now).Pointer()
	code := codeAt(at, 160)
	var was []byte
	was = binary.LittleEndian.AppendUint32(was, sinceYear1885)
	place := -1
	for i := range len(code) - len(was) {
		if string(code[i:i+len(was)]) != string(was) {
			continue
		}
		if place >= 0 {
			return errors.New("time.Now has its constant twice")
		}
		place = i
	}
	if place < 0 {
		return errors.New("time.Now doesn't have its constant")
	}
	size := uintptr(os.Getpagesize())
	from := at &^ (size - 1)
	pages := codeAt(from, int((at+uintptr(len(code))+size-1)&^(size-1)-from))
	if err := syscall.Mprotect(pages, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC); err != nil {
		return fmt.Errorf("make the code of time.Now writable: %w", err)
	}
	began := time.Now()
	binary.LittleEndian.PutUint32(code[place:], uint32(sinceYear1885+off))
	if err := syscall.Mprotect(pages, syscall.PROT_READ|syscall.PROT_EXEC); err != nil {
		return err
	}
	if moved := time.Now().Unix() - began.Unix() - int64(off); moved < 0 || moved > 60 {
		return fmt.Errorf("the clock is off by %d s more than it should be", moved)
	}
	return nil
}

// codeAt is memory of the program itself, which the collector doesn't move.
func codeAt(at uintptr, n int) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), n)
}
