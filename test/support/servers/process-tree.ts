import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import process from 'node:process'

/** The processes that `pid` has started and that still run. */
export function childrenOf(pid: number): readonly number[] {
  return listProcesses()
    .filter(({ parent, isRunning }) => parent === pid && isRunning)
    .map((one) => one.pid)
}

export function isStopped(pid: number): boolean {
  return listProcesses().some((one) => one.pid === pid && one.isStopped)
}

/** Whether any still runs. One that has ended counts as gone before its parent asks for its exit code. */
export function isAnyRunning(pids: readonly number[]): boolean {
  return listProcesses().some(({ pid, isRunning }) => isRunning && pids.includes(pid))
}

interface ListedProcess {
  readonly pid: number
  readonly parent: number
  readonly isRunning: boolean
  readonly isStopped: boolean
}

function listProcesses(): readonly ListedProcess[] {
  if (process.platform !== 'linux') return listByPs()
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readStat(Number(name)))
}

/** `pid (name) state parent …`, where the name may hold anything. Linux images often come without `ps`. */
function readStat(pid: number): readonly ListedProcess[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return [{ pid, parent: Number(parent), isRunning: !'ZX'.includes(state), isStopped: state === 'T' }]
  } catch {
    return [] // It ended since the folder was read.
  }
}

function listByPs(): readonly ListedProcess[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n')
  return lines.map((line) => {
    const [pid, parent, state = ''] = line.trim().split(/\s+/)
    return { pid: Number(pid), parent: Number(parent), isRunning: !state.startsWith('Z'), isStopped: state.startsWith('T') }
  })
}
