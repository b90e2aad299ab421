#!/usr/bin/env bash
# A Slurm cluster of this one machine, in a folder of its own, on which an array job and then a step
# of several tasks share a preparation: both write what a single process writes. By hand, where
# Slurm is installed (apt-get install slurmctld slurmd slurm-client munge):
#
#   ./bazelw test //tests/distributed:slurm_array_test --test_output=all --spawn_strategy=local
set -euo pipefail

# The paths of the daemons' sockets have to be short, which a test's own folder is not.
work=$(mktemp -d /tmp/lanewise-slurm.XXXXXX)
lanewise=$PWD/tools/lanewise
daemons=()
finish() {
  local status=$?
  ((status == 0)) || tail -n 20 "$work"/*.log 2>/dev/null || true
  ((${#daemons[@]} == 0)) || kill "${daemons[@]}" 2>/dev/null || true
  wait || true
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT

for tool in munged slurmctld slurmd sbatch srun scontrol; do
  PATH=$PATH:/usr/sbin command -v "$tool" >/dev/null || { echo "no $tool: install Slurm"; exit 1; }
done
PATH=$PATH:/usr/sbin
host=$(hostname -s)
user=$(id -un)
mkdir "$work"/{state,spool,munge}
chmod 700 "$work/munge"
socket=$work/munge.socket
dd if=/dev/urandom of="$work/munge/key" bs=1024 count=1 status=none
chmod 600 "$work/munge/key"
munged --foreground --force --key-file="$work/munge/key" --socket="$socket" \
  --pid-file="$work/munge/pid" --seed-file="$work/munge/seed" --log-file="$work/munge.log" \
  >"$work/munged.log" 2>&1 &
daemons+=($!)

cat >"$work/slurm.conf" <<CONF
ClusterName=lanewise
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$socket
CryptoType=crypto/munge
SlurmctldPort=16817
SlurmdPort=16818
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc)
PartitionName=all Nodes=$host Default=YES OverSubscribe=FORCE:8 State=UP
CONF
export SLURM_CONF=$work/slurm.conf
slurmctld -D -c >"$work/slurmctld.log" 2>&1 &
daemons+=($!)
slurmd -D >"$work/slurmd.log" 2>&1 &
daemons+=($!)
for _ in $(seq 60); do
  [[ $(sinfo -h -o %T 2>/dev/null) != idle ]] || break
  sleep 0.5
done
sinfo

"$lanewise" synthesize --model deepseek-v4.1-flash "$work/model" --layers 2 --experts 16 \
  --size vocab=64 --size hidden=256 --size inter=128 --size heads=8 --size groups=1 \
  --size o_rank=128 --size q_rank=128 --size index_heads=4 --shard-size 600KB
"$lanewise" prepare "$work/model" "$work/single" --target gfx942 --lossless

# same NAME: what is there is what one process wrote.
same() {
  diff -r "$work/single" "$work/$1"
  "$lanewise" verify "$work/$1" --against "$work/model"
}

sbatch --array=0-3 --wait --oversubscribe --output="$work/array-%a.log" --wrap \
  "$lanewise prepare $work/model $work/array --target gfx942 --lossless --resume --shard \$SLURM_ARRAY_TASK_ID/\$SLURM_ARRAY_TASK_COUNT"
cat "$work"/array-*.log
same array

srun --ntasks=4 --overcommit sh -c \
  "$lanewise prepare $work/model $work/step --target gfx942 --lossless --shard \$SLURM_PROCID/\$SLURM_NTASKS"
same step
echo 'both equal the single run'
