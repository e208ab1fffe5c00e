"""deploy/slurm on a real cluster: an array of workers, one of them killed and requeued by Slurm, a commit that depends
on all of them. What is published is what a publish on one machine publishes.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import slurm

BIN = os.environ['TARN_BIN']
DEPLOY = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'deploy', 'slurm')
SHARES = 3
CANNOT_RUN = 77


class SlurmTest(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix='tarn-slurm-')
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        os.chmod(self.work, 0o755)
        self.data, self.index = f'{self.work}/base/img', f'{self.work}/index'
        for number in range(7):
            self.make_archive(f'{number}.tar', number)
        with open(f'{self.data}/labels.csv', 'w', encoding='ascii') as file:
            file.write('a,b\n')
        os.utime(f'{self.data}/labels.csv', (time.time() - 3600, time.time() - 3600))

    def make_archive(self, name, number):
        """An archive that was written an hour ago; the larger its number the larger it is."""
        tree = f'{self.work}/tree-{number}'
        os.makedirs(tree)
        for member in range(20):
            with open(f'{tree}/{member}.bin', 'wb') as file:
                file.write(os.urandom(1000 * (number + 1)))
        os.makedirs(self.data, exist_ok=True)
        path = f'{self.data}/{name}'
        subprocess.run(['tar', '-cf', path, '-C', tree, '.'], check=True)
        os.utime(path, (time.time() - 3600, time.time() - 3600))

    def tarn_index(self, *arguments, code=0):
        run = subprocess.run([f'{BIN}/tarn-index', *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True, timeout=slurm.DEADLINE, check=False)
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        return run.stdout

    def log(self, name):
        path = f'{self.work}/{name}'
        if not os.path.exists(path):
            return ''
        with open(path, encoding='utf-8', errors='replace') as file:
            return file.read()

    def test_an_array_whose_worker_is_requeued_and_a_dependent_commit(self):
        # The largest is in share 1, and as long as it looks young its worker waits for it.
        young = f'{self.data}/young.tar'
        self.make_archive('young.tar', 9)
        os.utime(young)
        with slurm.Cluster(f'{self.work}/cluster') as cluster:
            jobs = self.submit(cluster)
            try:
                self.requeue_the_first(cluster, jobs, young)
                cluster.wait(lambda: not cluster.queue(), 'every job is done')
            except AssertionError as error:
                raise AssertionError(f'{error}\n{self.all_logs()}') from error
        self.check(jobs)

    def submit(self, cluster):
        out = cluster.run(f'{DEPLOY}/submit', self.data, 'img', str(SHARES), TARN_INDEX=self.index,
                          PATH=f'{BIN}:{cluster.environment["PATH"]}',
                          TARN_WORKER_OPTIONS='--settle 600 --settle-timeout 3600',
                          TARN_SBATCH_OPTIONS=f'--chdir={self.work}')
        jobs = dict(re.findall(r'(\w+)=(\w+)', out))
        self.assertEqual(set(jobs), {'plan', 'workers', 'commit'}, out)
        return jobs

    def requeue_the_first(self, cluster, jobs, young):
        first = f'{jobs["workers"]}_1'
        others = {f'{jobs["workers"]}_{share}' for share in range(2, SHARES + 1)}
        cluster.wait(lambda: cluster.queue().get(first) == 'RUNNING', 'the first worker runs')
        cluster.wait(lambda: not others & set(cluster.queue()), 'the other workers are done')
        # The first has read what it can, and waits.
        plan = f'{self.index}/staging/plans/img/{jobs["plan"]}'
        cluster.wait(lambda: self.bundles() == 8, 'all but the young archive are read')
        self.assertEqual(sorted(n for n in os.listdir(plan) if n.startswith('share-')),
                         ['share-0', *(f'share-{share}' for share in range(2, SHARES + 1))])
        self.assertEqual(cluster.queue().get(first), 'RUNNING', 'it did not wait')
        self.assertEqual(cluster.queue().get(jobs['commit']), 'PENDING', 'the commit waits for all')
        cluster.run('scontrol', 'requeue', first)
        cluster.wait(lambda: cluster.queue().get(first) != 'RUNNING', 'the first worker is killed')
        self.assertNotIn('share-1', os.listdir(plan))
        os.utime(young, (time.time() - 3600, time.time() - 3600))

    def bundles(self):
        return sum(len([f for f in files if f.endswith('.sst')])
                   for _, _, files in os.walk(f'{self.index}/bundles'))

    def all_logs(self):
        return '\n'.join(f'---- {name}\n{self.log(name)}' for name in os.listdir(self.work) if name.endswith('.log'))

    def check(self, jobs):
        first = self.log(f'tarn-worker-{jobs["workers"]}-1.log')
        self.assertIn('REQUEUE', first, 'Slurm did not requeue it')
        self.assertIn('share 1/3', first, self.all_logs())
        # The archives it had completed were not read again.
        self.assertRegex(first, r'read +1 files', first)
        self.assertIn('published img@1', self.log(f'tarn-commit-{jobs["commit"]}.log'), self.all_logs())

        again = json.loads(self.tarn_index('commit', '--name', 'img', '--index', self.index, '--plan', jobs['plan'],
                                           '--json', '--quiet'))
        self.assertFalse(again['published'])
        local = json.loads(self.tarn_index('publish', self.data, '--name', 'img', '--index', f'{self.work}/local',
                                           '--settle', '0', '--json', '--quiet'))
        for key in ('reference', 'digest', 'archives', 'loose_files', 'members', 'bytes', 'source_path'):
            self.assertEqual(again[key], local[key], key)
        self.tarn_index('fsck', '--index', self.index)
        # A publish on one machine goes on from there, and reads nothing.
        same = json.loads(self.tarn_index('publish', self.data, '--name', 'img', '--index', self.index, '--settle', '0',
                                          '--json', '--quiet'))
        self.assertFalse(same['published'])


if __name__ == '__main__':
    reason = slurm.why_no_slurm()
    if reason:
        print('skipped:', reason)
        sys.exit(CANNOT_RUN)
    unittest.main(verbosity=2)
