import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import process from 'node:process'

/** The processes that `pid` has started and that still run. */
export function childrenOf(pid: number): readonly number[] {
  const listed = process.platform === 'linux' ? readdirSync('/proc').flatMap((name) => readStat(Number(name))) : listByPs()
  return listed.filter(({ parent, state }) => parent === pid && !hasEnded(state)).map((one) => one.pid)
}

/** Whether it is stopped by SIGSTOP. */
export function isStopped(pid: number): boolean {
  return look([pid]).some(({ state }) => state === 'T')
}

/** Whether any still runs. One that has ended counts as gone before its parent asks for its exit code. */
export function isAnyRunning(pids: readonly number[]): boolean {
  return look(pids).some(({ state }) => !hasEnded(state))
}

interface ListedProcess {
  readonly pid: number
  readonly parent: number
  /** A letter, as `ps` shows it. */
  readonly state: string
}

function hasEnded(state: string): boolean {
  return state === 'Z' || state === 'X'
}

function look(pids: readonly number[]): readonly ListedProcess[] {
  return process.platform === 'linux' ? pids.flatMap(readStat) : listByPs().filter(({ pid }) => pids.includes(pid))
}

/** Linux images often come without `ps`. A line is `pid (name) state parent …`, where the name may hold anything. */
function readStat(pid: number): readonly ListedProcess[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state = '', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return [{ pid, parent: Number(parent), state }]
  } catch {
    return [] // It has ended, or is no process.
  }
}

function listByPs(): readonly ListedProcess[] {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n')
  return lines.map((line) => {
    const [pid, parent, state = ''] = line.trim().split(/\s+/)
    return { pid: Number(pid), parent: Number(parent), state: state.charAt(0) }
  })
}
