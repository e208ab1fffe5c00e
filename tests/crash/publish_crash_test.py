"""A publish that is killed at any instant leaves the previous generation readable; the next one reads no complete
archive again, and what it publishes is what an undisturbed one would have. Publishers never wait for each other.

TARN_CRASH_ROUNDS says how many random moments are tried.
"""
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

import publishing

ROUNDS = int(os.environ.get('TARN_CRASH_ROUNDS', '6'))
OLD, NEW = 4, 8
# As in indexer/kill_point.h, with the arrivals that are tried.
KILL_POINTS = {'root-opened': (1,), 'archive-read': (1, 5), 'bundle-written': (1, 6), 'journal-written': (1, 4),
               'bundle-in-place': (1, 7), 'kept-copied': (1,), 'kept-in-place': (1,), 'rows-built': (1,), 'generation-written': (1,), 'generation-published': (1,)}


class PublishCrashTest(publishing.Publishing):
    """Generation 1 holds the old archives and a label file; the publish that is disturbed adds the new ones."""

    def setUp(self):
        super().setUp()
        for number in range(OLD):
            publishing.make_archive(f'{self.data}/old/{number}.tar', number)
        for number in range(NEW):
            publishing.make_archive(f'{self.data}/new/{number}.tar', 100 + number)
        with open(f'{self.data}/labels.csv', 'w', encoding='ascii') as file:
            file.write('a,b\n')
        time.sleep(0.3)  # time stamps that can be trusted
        self.prepared = os.path.join(self.work, 'prepared')
        self.publish(self.prepared, '--exclude', 'new', '--no-keep')  # the label file is still to be kept
        self.before = publishing.listing(self.data)
        undisturbed = self.copy_of_prepared('undisturbed')
        started = time.monotonic()
        self.expected = self.publish(undisturbed)
        self.seconds = time.monotonic() - started
        self.expected_bundles = publishing.bundles(undisturbed)
        self.new_bytes = {f'new/{n}.tar': os.path.getsize(f'{self.data}/new/{n}.tar') for n in range(NEW)}
        self.assertEqual(self.expected['bytes_read'], sum(self.new_bytes.values()))

    def copy_of_prepared(self, name):
        index = os.path.join(self.work, name)
        shutil.copytree(self.prepared, index)
        return index

    def recover(self, index):
        """What has to be true behind a kill, and behind the publish that follows it."""
        there = self.generations(index)
        self.assertIn(there, ([1], [1, 2]))
        self.assert_readable(index, 'img@1', 'old/2.tar')
        self.assert_readable(index, 'img', 'old/1.tar')
        # Complete is what has its bundle in place.
        in_place = publishing.bundles(index)
        complete = {path for path, bundle in publishing.journaled(index, 'img').items() if bundle in in_place}
        new_in_place = in_place - publishing.bundles(self.prepared)
        if there == [1]:
            self.assertEqual(len(complete & self.new_bytes.keys()), len(new_in_place))

        report = self.publish(index)
        self.assertEqual(self.generations(index), [1, 2])
        self.assertEqual(report['reference'], 'img@2')
        for key in ('digest', 'members', 'bytes', 'archives', 'loose_files'):
            self.assertEqual(report[key], self.expected[key], key)
        unread = self.new_bytes if there == [1, 2] else complete
        self.assertEqual(report['bytes_read'],
                         sum(size for path, size in self.new_bytes.items() if path not in unread))
        self.assertEqual(publishing.bundles(index), self.expected_bundles)
        self.assertEqual(report['kept']['files'], 1)
        self.assert_readable(index, 'img@2', 'new/3.tar')
        self.assert_clean(index)
        self.assertEqual(self.publish(index)['bytes_read'], 0)
        self.assertEqual(publishing.listing(self.data), self.before)
        shutil.rmtree(index)

    def test_killed_at_each_named_point(self):
        for point, arrivals in KILL_POINTS.items():
            for arrival in arrivals:
                with self.subTest(point=point, arrival=arrival):
                    index = self.copy_of_prepared(f'{point}-{arrival}')
                    run = subprocess.run(self.command(index, '--jobs', '2'), stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL, timeout=publishing.DEADLINE, check=False,
                                         env={**os.environ, 'TARN_KILL_POINT': f'{point}:{arrival}'})
                    self.assertEqual(run.returncode, -signal.SIGKILL)
                    self.recover(index)

    def test_killed_at_random_moments(self):
        chance = random.Random(os.environ.get('TARN_CRASH_SEED', '1'))
        killed = 0
        for number in range(ROUNDS):
            delay = chance.uniform(0, self.seconds)
            with self.subTest(round=number, delay=delay):
                index = self.copy_of_prepared(f'random-{number}')
                with subprocess.Popen(self.command(index, '--jobs', '2'), stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL) as child:
                    time.sleep(delay)
                    child.kill()
                    killed += child.wait(timeout=publishing.DEADLINE) == -signal.SIGKILL
                self.recover(index)
        self.assertGreater(killed, 0, 'every publish was faster than its kill')

    def test_killed_again_and_again_it_still_gets_on(self):
        index = self.copy_of_prepared('again')
        known = 0
        for _ in range(NEW + 2):
            run = subprocess.run(self.command(index, '--jobs', '1'), stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, timeout=publishing.DEADLINE, check=False,
                                 env={**os.environ, 'TARN_KILL_POINT': 'bundle-in-place:1'})
            if run.returncode == 0:
                break
            self.assertEqual(run.returncode, -signal.SIGKILL)
            complete = publishing.bundles(index)
            self.assertGreater(len(complete), known)
            known = len(complete)
        self.recover(index)

    def test_two_publishers_of_one_name(self):
        index = self.copy_of_prepared('one-name')
        children = [subprocess.Popen(self.command(index), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                    for _ in range(3)]
        for child in children:
            _, err = child.communicate(timeout=publishing.DEADLINE)
            self.assertEqual(child.returncode, 0, err.decode(errors='replace'))
        # They saw the same files, so one published and the others found nothing changed.
        self.recover(index)

    def test_two_publishers_of_two_names(self):
        index = self.copy_of_prepared('two-names')
        children = {name: subprocess.Popen(self.command(index, name=name), stdout=subprocess.DEVNULL,
                                           stderr=subprocess.PIPE) for name in ('img', 'first', 'second')}
        for child in children.values():
            _, err = child.communicate(timeout=publishing.DEADLINE)
            self.assertEqual(child.returncode, 0, err.decode(errors='replace'))
        numbers = set()
        for name in children:
            with open(f'{index}/datasets/{name}/number', encoding='ascii') as file:
                numbers.add(file.read())
        self.assertEqual(len(numbers), 3)
        self.assert_readable(index, 'first@1', 'new/0.tar')
        self.assert_readable(index, 'second@1', 'new/1.tar')
        self.recover(index)

    def test_a_publisher_whose_neighbour_is_killed(self):
        index = self.copy_of_prepared('neighbour')
        with subprocess.Popen(self.command(index), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env={**os.environ, 'TARN_KILL_POINT': 'archive-read'}) as doomed:
            report = self.publish(index)
            self.assertEqual(doomed.wait(timeout=publishing.DEADLINE), -signal.SIGKILL)
        self.assertEqual(report['digest'], self.expected['digest'])
        self.recover(index)

    def test_stopped_by_a_signal_it_keeps_what_is_whole(self):
        for sent, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
            with self.subTest(signal=sent):
                index = self.copy_of_prepared(f'stopped-{code}')
                young = f'{self.data}/young.tar'
                publishing.make_archive(young, 500)
                for path in self.new_bytes:
                    os.utime(f'{self.data}/{path}', (time.time() - 7200, time.time() - 7200))
                time.sleep(0.3)
                # It waits for the young archive when everything else is done.
                with subprocess.Popen(self.command(index, '--settle', '600', '--settle-timeout', '3600'),
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
                    deadline = time.monotonic() + publishing.DEADLINE
                    while len(publishing.bundles(index)) < len(self.expected_bundles):
                        self.assertLess(time.monotonic(), deadline)
                        self.assertIsNone(child.poll(), 'it did not wait')
                        time.sleep(0.05)
                    time.sleep(0.2)
                    child.send_signal(sent)
                    out, err = child.communicate(timeout=publishing.DEADLINE)
                self.assertEqual(child.returncode, code, out + err)
                self.assertIn(f'stopped by {sent.name}', err)
                self.assertIn('run the same command again', err)
                self.assert_clean(index)
                os.unlink(young)
                self.assertEqual(self.publish(index)['bytes_read'], 0)
                shutil.rmtree(index)


if __name__ == '__main__':
    unittest.main(verbosity=2)
