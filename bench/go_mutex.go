// The Mutex of etcd's own Go client, measured on request: each line of the input is a request, and
// answered by a line of numbers.
//
//	pairs COUNT                        how many nanoseconds each lock and unlock took together
//	contend CONTENDERS MILLISECONDS    how often the lock was held in a second, by so many with a
//	                                   client and a lease each
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
)

func must(err error) {
	if err != nil {
		log.Fatal("go_mutex: ", err)
	}
}

type peers struct {
	server  string
	mutexes []*concurrency.Mutex
}

// The number-th, made when it is first asked for.
func (p *peers) mutex(number int) *concurrency.Mutex {
	for len(p.mutexes) <= number {
		client, err := clientv3.New(clientv3.Config{Endpoints: []string{p.server}})
		must(err)
		session, err := concurrency.NewSession(client)
		must(err)
		p.mutexes = append(p.mutexes, concurrency.NewMutex(session, "go/lock"))
	}
	return p.mutexes[number]
}

func pair(mutex *concurrency.Mutex) {
	must(mutex.Lock(context.Background()))
	must(mutex.Unlock(context.Background()))
}

func (p *peers) pairs(count int) string {
	mutex := p.mutex(0)
	var times strings.Builder
	for i := 0; i < count; i++ {
		start := time.Now()
		pair(mutex)
		fmt.Fprint(&times, time.Since(start).Nanoseconds(), " ")
	}
	return times.String()
}

func (p *peers) contend(contenders int, duration time.Duration) string {
	p.mutex(contenders - 1)
	var holds int64
	var all sync.WaitGroup
	start := time.Now()
	for _, mutex := range p.mutexes[:contenders] {
		all.Add(1)
		go func(mutex *concurrency.Mutex) {
			defer all.Done()
			for time.Since(start) < duration {
				pair(mutex)
				atomic.AddInt64(&holds, 1)
			}
		}(mutex)
	}
	all.Wait()
	return fmt.Sprint(holds * int64(time.Second) / int64(time.Since(start)))
}

func main() {
	p := &peers{server: os.Args[1]}
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		var what string
		var count, milliseconds int
		fmt.Sscan(input.Text(), &what, &count, &milliseconds)
		if what == "pairs" {
			fmt.Println(p.pairs(count))
		} else {
			fmt.Println(p.contend(count, time.Duration(milliseconds)*time.Millisecond))
		}
	}
}
