// Takes locks by the Mutex of etcd's own Go client, for tests that share them with it.
//
// Works --rounds times under the lock on an unguarded counter, a file in --folder that it counts up
// in two steps, so that two holders at one time show. Or, with --wait-one, takes the lock once and
// holds it until a line comes on standard input.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
)

var (
	connect = flag.String("connect", "", "127.0.0.1:PORT")
	name    = flag.String("name", "", "of the lock")
	rounds  = flag.Int("rounds", 1, "")
	folder  = flag.String("folder", "", "of the files `counter` and journal")
	mark    = flag.String("mark", "", "what to append to `journal` in each round")
	atALine = flag.Bool("at-a-line", false, "start when a line comes")
	waitOne = flag.Bool("wait-one", false, "hold once, until a line comes")
	session = flag.Int("session", 10000, "`milliseconds`, in whole seconds")

	input = bufio.NewReader(os.Stdin)
)

func must(err error) {
	if err != nil {
		log.Fatal("etcd_client: ", err)
	}
}

func awaitLine() {
	_, err := input.ReadString('\n')
	must(err)
}

func newMutex() *concurrency.Mutex {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{*connect}})
	must(err)
	lease, err := concurrency.NewSession(client, concurrency.WithTTL(*session/1000))
	must(err)
	return concurrency.NewMutex(lease, *name)
}

func holdUntilTold(mutex *concurrency.Mutex) {
	started := time.Now()
	fmt.Println("waiting")
	must(mutex.Lock(context.Background()))
	fmt.Println("held", time.Since(started).Milliseconds())
	awaitLine()
	must(mutex.Unlock(context.Background()))
	fmt.Println("released")
}

func countUp() {
	counter := filepath.Join(*folder, "counter")
	text, err := os.ReadFile(counter)
	must(err)
	before, err := strconv.Atoi(strings.TrimSpace(string(text)))
	must(err)
	must(os.WriteFile(counter, []byte(strconv.Itoa(before+1)), 0o600))
}

func noteIt() {
	journal, err := os.OpenFile(filepath.Join(*folder, "journal"), os.O_APPEND|os.O_WRONLY, 0)
	must(err)
	defer journal.Close()
	_, err = journal.WriteString(*mark)
	must(err)
}

func runRounds(mutex *concurrency.Mutex) {
	for i := 0; i < *rounds; i++ {
		must(mutex.Lock(context.Background()))
		countUp()
		noteIt()
		must(mutex.Unlock(context.Background()))
	}
	fmt.Println("done", *rounds)
}

func main() {
	flag.Parse()
	mutex := newMutex()
	if *waitOne {
		holdUntilTold(mutex)
		return
	}
	if *atALine {
		fmt.Println("ready")
		awaitLine()
	}
	runRounds(mutex)
}
