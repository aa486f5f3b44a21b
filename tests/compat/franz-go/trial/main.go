// Command trial says what becomes of franz-go's producers and consumers that carry one given identifier.
//
// A line of stdin is an attempt: servers, trial, value, topic, group, seconds, with tabs between them. A line of stdout is
// the answer: whether it worked, and in base64 what was seen.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const nothing = "no record, no error"

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	for lines.Scan() {
		said := ""
		if err := attempt(strings.Split(lines.Text(), "\t")); err != nil {
			said = err.Error()
		}
		fmt.Printf("%t\t%s\n", said == "", base64.StdEncoding.EncodeToString([]byte(said)))
	}
}

func attempt(words []string) error {
	servers, trial, value, topic, group := words[0], words[1], words[2], words[3], words[4]
	seconds, _ := strconv.Atoi(words[5])
	patience := time.Duration(seconds) * time.Second
	options := []kgo.Opt{
		kgo.SeedBrokers(servers),
		kgo.AllowAutoTopicCreation(),
		kgo.RetryTimeout(patience),
		kgo.RecordDeliveryTimeout(patience),
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch trial {
	case "rebalance":
		return rebalance(ctx, append(options, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
			kgo.HeartbeatInterval(200*time.Millisecond)))
	case "producer client id":
		return produce(ctx, topic, append(options, kgo.ClientID(value)))
	case "topic name":
		return produce(ctx, value, options)
	case "transactional id":
		return produceInTransaction(ctx, topic, append(options, kgo.TransactionalID(value)))
	case "consumer client id":
		options = append(options, kgo.ConsumerGroup(group), kgo.ClientID(value))
	case "group id":
		options = append(options, kgo.ConsumerGroup(value))
	case "group instance id":
		options = append(options, kgo.ConsumerGroup(group), kgo.InstanceID(value))
	default:
		options = append(options, kgo.ConsumerGroup(group), kgo.Rack(value))
	}
	return consume(ctx, append(options, kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())))
}

func produce(ctx context.Context, topic string, options []kgo.Opt) error {
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("1")}).FirstErr()
}

func produceInTransaction(ctx context.Context, topic string, options []kgo.Opt) error {
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.BeginTransaction(); err != nil {
		return err
	}
	if err := client.ProduceSync(ctx, &kgo.Record{Topic: topic, Value: []byte("1")}).FirstErr(); err != nil {
		return err
	}
	return client.EndTransaction(ctx, kgo.TryCommit)
}

// member is a consumer that counts its partitions.
type member struct {
	client *kgo.Client
	share  atomic.Int64
}

func join(ctx context.Context, options []kgo.Opt) (*member, error) {
	joined := &member{}
	count := func(sign int64) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, moved map[string][]int32) {
			for _, partitions := range moved {
				joined.share.Add(sign * int64(len(partitions)))
			}
		}
	}
	client, err := kgo.NewClient(append(options, kgo.OnPartitionsAssigned(count(1)),
		kgo.OnPartitionsRevoked(count(-1)), kgo.OnPartitionsLost(count(-1)))...)
	if err != nil {
		return nil, err
	}
	joined.client = client
	go func() {
		for ctx.Err() == nil && !client.PollFetches(ctx).IsClientClosed() {
		}
	}()
	return joined, nil
}

func settled(ctx context.Context, share int64, members ...*member) error {
	for ctx.Err() == nil {
		right := true
		for _, one := range members {
			right = right && one.share.Load() == share
		}
		if right {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("no member of %d came to %d partitions", len(members), share)
}

func rebalance(ctx context.Context, options []kgo.Opt) error {
	first, err := join(ctx, options)
	if err != nil {
		return err
	}
	defer first.client.Close()
	if err := settled(ctx, 2, first); err != nil {
		return err
	}
	second, err := join(ctx, options)
	if err != nil {
		return err
	}
	err = settled(ctx, 1, first, second)
	second.client.Close()
	if err != nil {
		return err
	}
	return settled(ctx, 2, first)
}

func consume(ctx context.Context, options []kgo.Opt) error {
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()
	var seen error
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		if fetches.NumRecords() > 0 {
			return client.CommitRecords(ctx, fetches.Records()...)
		}
		for _, one := range fetches.Errors() {
			if !errors.Is(one.Err, context.DeadlineExceeded) {
				seen = one.Err
			}
		}
	}
	if seen == nil {
		return errors.New(nothing)
	}
	return seen
}
