import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkNextTask, taskGraph } from '../../src/model/task-graph.ts'

const edges = (graph: ReadonlyMap<string, readonly string[]>) => Object.fromEntries(graph)

describe('JB-11 the graph of tasks', () => {
  const three = [{ name: 'a' }, { name: 'b' }, { name: 'c' }]

  it('lets each of sequential tasks follow all earlier ones', () => {
    expect(edges(taskGraph(three, 'sequential'))).toEqual({ a: [], b: ['a'], c: ['a', 'b'] })
  })

  it('has no edges in a graph without any after', () => {
    expect(edges(taskGraph(three, 'graph'))).toEqual({ a: [], b: [], c: [] })
  })

  it('has no edges for parallel tasks', () => {
    expect(edges(taskGraph(three, 'parallel'))).toEqual({ a: [], b: [], c: [] })
  })

  it('is what the afters say as soon as one task has any, whatever the mode', () => {
    const tasks = [{ name: 'a' }, { name: 'b' }, { name: 'c', after: ['a', 'b'] }]
    for (const mode of ['sequential', 'parallel'] as const)
      expect(edges(taskGraph(tasks, mode))).toEqual({ a: [], b: [], c: ['a', 'b'] })
    expect(edges(taskGraph([{ name: 'a', after: [] }, { name: 'b' }], 'sequential'))).toEqual({ a: [], b: [] })
  })

  it('keeps the order of declaration', () => {
    expect([...taskGraph([{ name: 'z' }, { name: 'a' }], 'parallel').keys()]).toEqual(['z', 'a'])
  })

  it('of no tasks is empty', () => {
    expect(taskGraph([], 'sequential').size).toBe(0)
  })
})

describe('the next task', () => {
  const earlier = [{ name: 'fetch' }, { name: 'render' }]

  it('may come after any tasks declared before it', () => {
    expect(() => checkNextTask(earlier, { name: 'send', after: ['render', 'fetch'] }, 'invoice')).not.toThrow()
  })

  it.each([
    [{ name: 'fetch' }, 'task.duplicate', /two tasks named "fetch"/],
    [{ name: 'send', after: ['sent'] }, 'task.unknown', /names "sent"; allowed are the tasks declared before it: fetch, render/],
    [{ name: 'send', after: ['send'] }, 'task.cycle', /waits for itself/],
    [{ name: 'send', after: 'render' }, 'option.invalid', /must be a list of task names/],
    [{ name: 'send', after: [5n] }, 'task.unknown', /names 5n/],
  ])('%o is refused', (task, code, message) => {
    expect(() => checkNextTask(earlier, task as never, 'invoice')).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) }),
    )
  })

  it('that is the first can come after none', () => {
    expect(() => checkNextTask([], { name: 'send', after: ['render'] }, 'invoice')).toThrow(
      /it is the first task and can have none/,
    )
  })

  it('can never close a cycle, since it reaches only back', () => {
    const declared = fc.array(
      fc.record({
        name: fc.constantFrom(...'abcdef'),
        after: fc.option(fc.array(fc.constantFrom(...'abcdef'), { maxLength: 3 }), { nil: undefined }),
      }),
      { maxLength: 8 },
    )
    fc.assert(
      fc.property(declared, (tasks) => {
        const accepted: { name: string; after: string[] | undefined }[] = []
        for (const task of tasks) {
          try {
            checkNextTask(accepted, task, 'job')
            accepted.push(task)
          } catch {
            // Refused ones are not part of the job.
          }
        }
        const seen = new Set<string>()
        for (const [name, after] of taskGraph(accepted, 'sequential')) {
          expect(after.every((predecessor) => seen.has(predecessor))).toBe(true)
          seen.add(name)
        }
      }),
    )
  })
})
