import { PunctualError, shown } from '../errors.ts'
import type { TaskMode } from './settings.ts'

/** A task's name and the tasks it says it comes after; undefined when it says nothing. */
export interface TaskNode {
  readonly name: string
  readonly after?: readonly string[] | undefined
}

/** Each task with the tasks that must be finished before it, in the order of declaration. */
export type TaskGraph = ReadonlyMap<string, readonly string[]>

/**
 * The graph of a job's tasks. In sequence each task follows all earlier ones, and sees their results; in parallel none follows another.
 * In a graph, which alone has an `after`, a task without it starts at once.
 */
export function taskGraph(tasks: readonly TaskNode[], mode: TaskMode): TaskGraph {
  const isGraph = mode === 'graph' || tasks.some((task) => task.after !== undefined)
  const graph = new Map<string, readonly string[]>()
  for (const { name, after } of tasks) graph.set(name, isGraph ? (after ?? []) : mode === 'parallel' ? [] : [...graph.keys()])
  return graph
}

/** The tasks that no other follows. */
export function endsOf(graph: TaskGraph): readonly string[] {
  const followed = new Set([...graph.values()].flat())
  return [...graph.keys()].filter((task) => !followed.has(task))
}

/** Refuses a repeated name and predecessors that are not declared before the task: reaching only back, no cycle can be written. */
export function checkNextTask(earlier: readonly TaskNode[], { name, after }: TaskNode, job: string): void {
  const names = earlier.map((task) => task.name)
  if (names.includes(name)) {
    throw new PunctualError(
      'task.duplicate',
      `Job ${JSON.stringify(job)} has two tasks named ${JSON.stringify(name)}; give each its own name`,
      { field: 'name', job, task: name },
    )
  }
  if (after === undefined) return
  if (!Array.isArray(after))
    throw new PunctualError('option.invalid', `after of task ${JSON.stringify(name)} must be a list of task names`, {
      field: 'after',
      job,
      task: name,
    })
  for (const predecessor of after) {
    if (predecessor === name)
      throw new PunctualError(
        'task.cycle',
        `Task ${JSON.stringify(name)} of job ${JSON.stringify(job)} waits for itself; after must name other tasks`,
        {
          field: 'after',
          job,
          cycle: [name, name],
        },
      )
    if (names.includes(predecessor)) continue
    const allowed =
      names.length === 0
        ? 'it is the first task and can have none'
        : `allowed are the tasks declared before it: ${names.join(', ')}`
    throw new PunctualError(
      'task.unknown',
      `after of task ${JSON.stringify(name)} in job ${JSON.stringify(job)} names ${shown(predecessor)}; ${allowed}`,
      {
        field: 'after',
        job,
        task: name,
        given: shown(predecessor),
        allowed: names,
      },
    )
  }
}
