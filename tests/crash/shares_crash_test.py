"""A publish that is spread over workers: what they leave behind is what a publish on one machine leaves, whatever of it
is killed at whatever moment.

TARN_CRASH_ROUNDS says how many random moments are tried.
"""
import json
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

import publishing

ROUNDS = int(os.environ.get('TARN_CRASH_ROUNDS', '6'))
ARCHIVES, SHARES = 7, 3
# As in indexer/kill_point.h, with the arrivals that are tried; by command.
KILL_POINTS = {
    'plan': {'plan-in-place': (1,)},
    'worker': {'root-opened': (1,), 'archive-read': (1, 2), 'bundle-written': (1,), 'journal-written': (2,),
               'bundle-in-place': (1,), 'share-recorded': (1,)},
    'commit': {'root-opened': (1,), 'rows-built': (1,), 'generation-written': (1,), 'generation-published': (1,),
               'commit-recorded': (1,)}}
SAME = ('digest', 'members', 'bytes', 'archives', 'loose_files', 'source_path')


class SharesCrashTest(publishing.Publishing):
    def setUp(self):
        super().setUp()
        for number in range(ARCHIVES):
            publishing.make_archive(f'{self.data}/{number}.tar', number, members=20 + 10 * number)
        with open(f'{self.data}/labels.csv', 'w', encoding='ascii') as file:
            file.write('a,b\n')
        time.sleep(0.3)  # time stamps that can be trusted
        self.before = publishing.listing(self.data)
        self.local = os.path.join(self.work, 'local')
        self.expected = self.publish(self.local)

    def arguments(self, command, index, share=None, more=()):
        place = ['--name', 'img', '--index', index, '--json', '--quiet', *more]
        if command == 'plan':
            return [publishing.INDEX, 'plan', self.data, '--shares', str(SHARES), *place]
        if command == 'worker':
            settle = [] if '--settle' in more else ['--settle', '0']
            return [publishing.INDEX, 'worker', '--share', f'{share}/{SHARES}', *settle, *place]
        return [publishing.INDEX, 'commit', *place]

    def run_command(self, command, index, share=None, code=0, more=()):
        run = subprocess.run(self.arguments(command, index, share, more), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, timeout=publishing.DEADLINE, check=False)
        self.assertEqual(run.returncode, code, f'{command} {share}\n{run.stdout}{run.stderr}')
        return json.loads(run.stdout)

    def plan_and_work(self, index, shares=range(1, SHARES + 1)):
        plan = self.run_command('plan', index)
        for share in shares:
            self.run_command('worker', index, share)
        return plan

    def assert_sound(self, index):
        """Nothing half there: every key, checksum, manifest and link is right."""
        subprocess.run([publishing.INDEX, 'fsck', '--index', index], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       timeout=publishing.DEADLINE, check=True)

    def assert_published(self, index, report):
        for key in SAME:
            self.assertEqual(report[key], self.expected[key], key)
        self.assertEqual(self.generations(index), [1])
        self.assertEqual(publishing.bundles(index), publishing.bundles(self.local))
        self.assert_readable(index, 'img@1', '3.tar')
        self.assert_sound(index)
        again = self.run_command('commit', index)
        self.assertFalse(again['published'])
        for key in (*SAME, 'reference', 'left_out', 'quarantined'):
            self.assertEqual(again[key], report[key], key)
        # A slow twin of a worker, or one that an engine starts once more.
        self.assertEqual(self.run_command('worker', index, 1)['committed'], 'img@1')
        self.assertEqual(self.publish(index)['bytes_read'], 0)
        self.assertEqual(self.generations(index), [1])
        self.assertEqual(sorted(n for n in os.listdir(f'{index}/staging') if n not in ('journals', 'plans')), [])
        self.assertEqual(publishing.listing(self.data), self.before)

    def test_plan_workers_and_commit_publish_what_one_machine_publishes(self):
        index = os.path.join(self.work, 'shared')
        plan = self.run_command('plan', index)
        self.assertEqual((plan['files'], plan['shares']), (ARCHIVES + 1, SHARES))
        self.assertEqual(plan['bytes'], self.expected['bytes_read'])
        self.assertEqual(self.run_command('plan', index)['plan'], plan['plan'], 'the same files, the same plan')
        read = [self.run_command('worker', index, share)['bytes_read'] for share in range(1, SHARES + 1)]
        self.assertEqual(read, [share['bytes'] for share in plan['share_list']])
        report = self.run_command('commit', index)
        self.assertTrue(report['published'])
        self.assertEqual(report['bytes_read'], self.expected['bytes_read'])
        self.assert_published(index, report)

    def test_commit_names_the_shares_that_are_missing(self):
        index = os.path.join(self.work, 'missing')
        self.plan_and_work(index, (2,))
        report = self.run_command('commit', index, code=1)
        self.assertEqual(report['plan']['missing_shares'], [1, 3])
        self.assertIn('1 and 3', report['refused']['message'])
        self.assertIn('worker', report['refused']['hint'])
        self.assertIn('--share 1/3', report['refused']['hint'])
        self.assertFalse(os.path.exists(f'{index}/datasets/img/1'))
        for share in (1, 3):
            self.run_command('worker', index, share)
        self.assert_published(index, self.run_command('commit', index))

    def test_commit_refuses_files_that_changed_since_they_were_read(self):
        index = os.path.join(self.work, 'changed')
        self.plan_and_work(index)
        publishing.make_archive(f'{self.data}/6.tar', 600)
        time.sleep(0.3)
        report = self.run_command('commit', index, code=1)
        (changed,) = report['plan']['changed']
        self.assertEqual(changed['path'], '6.tar')
        self.assertFalse(os.path.exists(f'{index}/datasets/img/1'))
        # Its worker reads it again, and nothing else.
        again = self.run_command('worker', index, changed['share'])
        self.assertEqual(again['files_read'], 1)
        report = self.run_command('commit', index)
        self.assertEqual(report['digest'], self.publish(os.path.join(self.work, 'local-again'))['digest'])

    def test_a_local_publish_in_between_does_no_harm(self):
        index = os.path.join(self.work, 'between')
        self.plan_and_work(index, (1,))
        self.assertTrue(self.publish(index)['published'])
        for share in (2, 3):
            self.assertEqual(self.run_command('worker', index, share)['bytes_read'], 0)
        report = self.run_command('commit', index)
        self.assertFalse(report['published'])
        self.assert_published(index, report)

    def test_two_workers_of_one_share_do_no_harm(self):
        index = os.path.join(self.work, 'twins')
        self.run_command('plan', index)
        children = [subprocess.Popen(self.arguments('worker', index, 1), stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE) for _ in range(3)]
        for child in children:
            _, err = child.communicate(timeout=publishing.DEADLINE)
            self.assertEqual(child.returncode, 0, err.decode(errors='replace'))
        for share in (2, 3):
            self.run_command('worker', index, share)
        self.assert_published(index, self.run_command('commit', index))

    def test_gc_leaves_what_a_plan_needs(self):
        index = os.path.join(self.work, 'gc')
        self.plan_and_work(index, (1, 2))
        before = publishing.bundles(index)
        # Older than the grace, all but the plan: a share may take as long as that.
        for place in ('bundles', 'staging/journals'):
            for directory, _, files in os.walk(f'{index}/{place}'):
                for name in files:
                    os.utime(os.path.join(directory, name), (time.time() - 7200, time.time() - 7200))
        subprocess.run([publishing.INDEX, 'gc', '--index', index, '--grace', '1h'], stdout=subprocess.DEVNULL, check=True,
                       timeout=publishing.DEADLINE)
        self.assertEqual(publishing.bundles(index), before)
        self.assertTrue(before)
        self.run_command('worker', index, 3)
        self.assert_published(index, self.run_command('commit', index))

    def test_gc_takes_a_plan_that_nobody_touched_for_its_grace(self):
        index = os.path.join(self.work, 'stale')
        plan = self.plan_and_work(index, (1,))
        for dry_run in (['--dry-run'], []):
            self.assertTrue(os.path.isdir(f'{index}/staging/plans/img/{plan["plan"]}'))
            run = subprocess.run([publishing.INDEX, 'gc', '--index', index, '--grace', '0', '--json', *dry_run],
                                 stdout=subprocess.PIPE, check=True, timeout=publishing.DEADLINE)
            self.assertEqual(json.loads(run.stdout)['staging'], 1)
        self.assertEqual(publishing.bundles(index), set())
        run = subprocess.run(self.arguments('commit', index), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             check=False, timeout=publishing.DEADLINE)
        self.assertEqual(run.returncode, 3)
        self.assertIn("dataset 'img' has no plan", run.stderr)
        self.assertIn('tarn-index plan', run.stderr)
        self.plan_and_work(index)
        self.assert_published(index, self.run_command('commit', index))

    def test_a_new_plan_takes_the_place_of_the_one_before(self):
        index = os.path.join(self.work, 'anew')
        before = self.plan_and_work(index, (1,))
        publishing.make_archive(f'{self.data}/more.tar', 90)
        time.sleep(0.3)
        plan = self.run_command('plan', index)
        self.assertNotEqual(plan['plan'], before['plan'])
        self.assertEqual(plan['files_unchanged'], before['share_list'][0]['files'])
        run = subprocess.run(self.arguments('worker', index, 2, ('--plan', before['plan'])), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, check=False, timeout=publishing.DEADLINE)
        self.assertEqual(run.returncode, 3)
        self.assertIn(plan['plan'], run.stderr, 'it says which plan is the current one')
        for share in range(1, SHARES + 1):
            self.run_command('worker', index, share)
        report = self.run_command('commit', index)
        self.assertEqual(report['digest'], self.publish(os.path.join(self.work, 'local-anew'))['digest'])

    def test_what_is_left_out_and_what_is_damaged_is_named_by_every_commit(self):
        index = os.path.join(self.work, 'damaged')
        for name in os.listdir(self.data):
            os.utime(f'{self.data}/{name}', (time.time() - 7200, time.time() - 7200))
        with open(f'{self.data}/5.tar', 'r+b') as file:
            file.seek(512 + 148)  # the checksum of the second header block
            file.write(b'7777777')
        os.utime(f'{self.data}/5.tar', (time.time() - 7200, time.time() - 7200))
        publishing.make_archive(f'{self.data}/young.tar', 50)
        self.run_command('plan', index)
        left_out = []
        for share in range(1, SHARES + 1):
            # An engine must not run a share again in vain: it is done, whatever was left out of it.
            report = self.run_command('worker', index, share, more=('--settle', '600', '--settle-timeout', '0'))
            left_out += [row['path'] for row in report['left_out']]
        self.assertEqual(left_out, ['young.tar'])
        first = self.run_command('commit', index, code=1)
        self.assertTrue(first['published'])
        again = self.run_command('commit', index, code=1)
        self.assertFalse(again['published'])
        for report in (first, again):
            self.assertEqual(report['quarantined'], ['5.tar'])
            self.assertEqual([row['path'] for row in report['left_out']], ['young.tar'])
            self.assertGreater(report['errors'], 0)

    def test_files_that_came_after_the_plan_are_named_and_not_part_of_it(self):
        index = os.path.join(self.work, 'late')
        self.plan_and_work(index)
        publishing.make_archive(f'{self.data}/late.tar', 70)
        report = self.run_command('commit', index)
        self.assertEqual(report['digest'], self.expected['digest'])
        self.assertTrue(any("'late.tar'" in note for note in report['notes']), report['notes'])

    def test_a_plan_of_full_identity_reads_all_and_goes_on_behind_a_kill(self):
        index = os.path.join(self.work, 'full')
        self.publish(index)
        plan = self.run_command('plan', index, more=('--identity', 'full'))
        self.assertEqual(plan['bytes'], self.expected['bytes_read'])
        first = plan['share_list'][0]
        run = subprocess.run(self.arguments('worker', index, 1), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             timeout=publishing.DEADLINE, check=False,
                             env={**os.environ, 'TARN_KILL_POINT': 'share-recorded'})
        self.assertEqual(run.returncode, -signal.SIGKILL)
        self.assertEqual(self.run_command('worker', index, 1)['bytes_read'], 0)
        self.assertGreater(first['bytes'], 0)
        for share in (2, 3):
            self.assertEqual(self.run_command('worker', index, share)['bytes_read'],
                             plan['share_list'][share - 1]['bytes'])
        report = self.run_command('commit', index)
        self.assertFalse(report['published'])
        self.assert_published(index, report)

    def test_numbers_that_do_not_fit_the_plan_are_usage_errors(self):
        index = os.path.join(self.work, 'numbers')
        self.run_command('plan', index)
        for arguments, variables, words in (
                (['--share', '1/4'], {}, ('4', 'the plan has 3')),
                ([], {'JOB_COMPLETION_INDEX': '3'}, ('JOB_COMPLETION_INDEX=3', '3')),
                ([], {}, ('--share', 'SLURM_ARRAY_TASK_ID')),
                (['--share', '1/3', '--plan', 'x'], {}, ("'x'",))):
            with self.subTest(arguments=arguments, variables=variables):
                clean = {k: v for k, v in os.environ.items() if not k.startswith(('SLURM_', 'JOB_'))}
                run = subprocess.run([publishing.INDEX, 'worker', '--name', 'img', '--index', index, *arguments],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False,
                                     timeout=publishing.DEADLINE, env={**clean, **variables})
                self.assertEqual(run.returncode, 2, run.stderr)
                for word in words:
                    self.assertIn(word, run.stderr)

    def go_on(self, index, victim):
        """What an engine does behind a kill: the same command again, and those behind it."""
        self.assert_sound(index)
        if victim == 'plan':
            self.run_command('plan', index)
        if victim != 'commit':
            known = set(publishing.journaled(index, 'img').values()) & publishing.bundles(index)
            sizes = sum(int(bundle.split('-')[0]) for bundle in known)
            read = sum(self.run_command('worker', index, share)['bytes_read'] for share in range(1, SHARES + 1))
            self.assertEqual(read, self.expected['bytes_read'] - sizes, 'a complete file was read again')
        report = self.run_command('commit', index)
        self.assert_published(index, report)
        shutil.rmtree(index)

    def prepare(self, index, victim):
        if victim == 'worker':
            self.run_command('plan', index)
        if victim == 'commit':
            self.plan_and_work(index)

    def test_killed_at_each_named_point(self):
        for victim, points in KILL_POINTS.items():
            for point, arrivals in points.items():
                for arrival in arrivals:
                    with self.subTest(command=victim, point=point, arrival=arrival):
                        index = os.path.join(self.work, f'{victim}-{point}-{arrival}')
                        self.prepare(index, victim)
                        run = subprocess.run(self.arguments(victim, index, 1), stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL, timeout=publishing.DEADLINE, check=False,
                                             env={**os.environ, 'TARN_KILL_POINT': f'{point}:{arrival}'})
                        self.assertEqual(run.returncode, -signal.SIGKILL)
                        self.go_on(index, victim)

    def test_killed_at_random_moments(self):
        chance = random.Random(os.environ.get('TARN_CRASH_SEED', '1'))
        for number in range(ROUNDS):
            victim = ('worker', 'commit')[number % 2]
            index = os.path.join(self.work, f'random-{number}')
            self.prepare(index, victim)
            undisturbed = os.path.join(self.work, f'undisturbed-{number}')
            shutil.copytree(index, undisturbed)
            started = time.monotonic()
            self.run_command(victim, undisturbed, 1)
            delay = chance.uniform(0, time.monotonic() - started)
            shutil.rmtree(undisturbed)
            with self.subTest(round=number, command=victim, delay=delay):
                with subprocess.Popen(self.arguments(victim, index, 1), stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL) as child:
                    time.sleep(delay)
                    child.kill()
                    child.wait(timeout=publishing.DEADLINE)
                self.go_on(index, victim)


if __name__ == '__main__':
    unittest.main(verbosity=2)
