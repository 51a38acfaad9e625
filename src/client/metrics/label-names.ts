/** The label of everything past a bound. */
const otherName = '_other'

const mostJobs = 200
const mostTasks = 500

/** Job and task labels in bounded number: the first come by name, all further ones are `_other`. */
export class LabelNames {
  readonly #jobs = new Set<string>()
  readonly #tasks = new Set<string>()

  job(name: string): string {
    return admit(this.#jobs, name, mostJobs) ? name : otherName
  }

  task(job: string, task: string): readonly [job: string, task: string] {
    const label = this.job(job)
    return label !== otherName && admit(this.#tasks, `${job}\n${task}`, mostTasks) ? [label, task] : [label, otherName]
  }
}

function admit(known: Set<string>, name: string, most: number): boolean {
  if (known.has(name)) return true
  if (known.size >= most) return false
  known.add(name)
  return true
}
