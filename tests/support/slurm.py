"""A Slurm cluster of one loopback node, in a directory of its own: configuration, munge key, spool, sockets, ports.

Nothing of the machine's own Slurm is read or written. Every daemon is a child of the test and is ended by its id.
"""
import os
import shutil
import signal
import socket
import subprocess
import time

DEADLINE = 300  # for anything the cluster does; no test waits so long unless something is wrong
SLOTS = 3
DAEMONS = ('slurmctld', 'slurmd', 'munged')
# What every node of a cluster needs; the rest of the configuration is where things are.
CONFIGURATION = """
ClusterName=tarn
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={directory}/munge.socket,cred_expire=10
CredType=cred/munge
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,bf_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
ReturnToService=2
JobRequeue=1
KillWait=5
SlurmdTimeout=300
MessageTimeout=60
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=16384 State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def why_no_slurm():
    """Why no cluster can be run here, or None."""
    if os.geteuid() != 0:
        return 'a cluster of one node needs root'
    missing = [name for name in (*DAEMONS, 'sbatch') if not shutil.which(name, path=search_path())]
    return f'not installed: {", ".join(missing)} (script/install-packages test)' if missing else None


def search_path():
    return os.environ.get('PATH', '') + ':/usr/sbin:/sbin'


def _free_port():
    with socket.socket() as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


class Cluster:
    """with Cluster(directory) as cluster: ... Its end stops every job and every daemon."""

    def __init__(self, directory):
        self.directory = directory
        self.children = []
        self.environment = {**os.environ, 'PATH': search_path(), 'SLURM_CONF': f'{directory}/slurm.conf'}
        for name in [n for n in self.environment if n.startswith(('SLURM_', 'SBATCH_')) and n != 'SLURM_CONF']:
            del self.environment[name]

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        os.makedirs(self.directory, exist_ok=True)
        os.chmod(self.directory, 0o755)
        for name in ('state', 'spool'):
            os.makedirs(f'{self.directory}/{name}')
        key = f'{self.directory}/munge.key'
        with open(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), 'wb') as file:
            file.write(os.urandom(1024))
        with open(f'{self.directory}/slurm.conf', 'w', encoding='ascii') as file:
            file.write(CONFIGURATION.format(host=socket.gethostname().split('.')[0], directory=self.directory,
                                            cpus=2 * SLOTS, controller_port=_free_port(), node_port=_free_port()))
        self._daemon('munged', '--foreground', '--force', '--key-file', key, '--socket', f'{self.directory}/munge.socket',
                     '--pid-file', f'{self.directory}/munged.pid', '--log-file', f'{self.directory}/munged.log',
                     '--seed-file', f'{self.directory}/munged.seed')
        self.wait(lambda: os.path.exists(f'{self.directory}/munge.socket'), 'munged listens')
        self._daemon('slurmctld', '-D', '-f', f'{self.directory}/slurm.conf')
        self._daemon('slurmd', '-D', '-f', f'{self.directory}/slurm.conf')
        self.wait(lambda: self.run('sinfo', '--noheader', '--format=%T', check=False).strip() == 'idle', 'the node is idle')

    def _daemon(self, name, *arguments):
        with open(f'{self.directory}/{name}.out', 'ab') as out:
            # A group of its own: it is ended by us, not by a Ctrl-C on the terminal.
            self.children.append(subprocess.Popen([name, *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                                                  stdout=out, stderr=out, start_new_session=True))

    def __exit__(self, *_):
        if len(self.children) == len(DAEMONS):
            self.run('scancel', '--signal=KILL', '--full', '--user=root', check=False)
            self.run('scancel', '--user=root', check=False)
            self.settle()
        for child in reversed(self.children):
            child.send_signal(signal.SIGTERM)
        for child in reversed(self.children):
            try:
                child.wait(timeout=30)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        for pid in self._steps():
            os.kill(pid, signal.SIGKILL)

    def settle(self):
        """Waits until no job runs, for a while: what is left is killed with its step."""
        end = time.monotonic() + 60
        while time.monotonic() < end and (self.queue() or self._steps()):
            time.sleep(0.2)

    def _steps(self):
        """Ids of slurmstepd processes of this cluster: they outlive slurmd."""
        found = []
        for name in os.listdir('/proc'):
            if name.isdigit():
                try:
                    with open(f'/proc/{name}/environ', 'rb') as file:
                        ours = f'SLURM_CONF={self.environment["SLURM_CONF"]}'.encode() in file.read().split(b'\0')
                    with open(f'/proc/{name}/comm', encoding='ascii') as file:
                        if ours and file.read().startswith('slurmstepd'):
                            found.append(int(name))
                except OSError:
                    continue
        return found

    def run(self, *command, check=True, **environment):
        """What a command of Slurm's prints."""
        run = subprocess.run(command, env={**self.environment, **environment}, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=DEADLINE, check=False)
        if check and run.returncode:
            raise AssertionError(f'{command}: exit code {run.returncode}\n{run.stdout}{run.stderr}')
        return run.stdout

    def queue(self, job=None):
        """{job or job_element: state} of what is waiting or running."""
        arguments = ['--jobs', str(job)] if job else []
        rows = self.run('squeue', '--noheader', '--array', '--format=%i %T', *arguments, check=False).split('\n')
        return dict(row.split() for row in rows if row.strip())

    def wait(self, condition, what):
        end = time.monotonic() + DEADLINE
        while not condition():
            for child in self.children:
                if child.poll() is not None:
                    raise AssertionError(f'{child.args[0]} ended with {child.returncode}\n{self.logs()}')
            if time.monotonic() > end:
                raise AssertionError(f'waited {DEADLINE} s in vain until {what}\n{self.logs()}')
            time.sleep(0.1)

    def logs(self):
        """The ends of the daemons' logs, for a failure."""
        text = ''
        for name in sorted(os.listdir(self.directory)):
            if name.endswith(('.log', '.out')):
                with open(f'{self.directory}/{name}', encoding='utf-8', errors='replace') as file:
                    text += f'---- {name}\n{file.read()[-4000:]}'
        return text
