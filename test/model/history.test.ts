import { describe, expect, it } from 'vitest'
import { taskHistories } from '../../src/model/history.ts'
import type { AttemptRecord, TurnRecord } from '../../src/model/occurrence.ts'
import { taskGraph } from '../../src/model/task-graph.ts'

const one = taskGraph([{ name: 'run' }], 'sequential')
const chain = taskGraph([{ name: 'a' }, { name: 'b' }, { name: 'c' }], 'sequential')
const fan = taskGraph([{ name: 'a' }, { name: 'b' }], 'parallel')

function turn(n: number, end: TurnRecord['end'], over: Partial<TurnRecord> = {}): TurnRecord {
  return {
    turn: n,
    end,
    node: 'node-1',
    startedAt: n * 100,
    endedAt: n * 100 + 50,
    result: null,
    error: null,
    attempt: null,
    settings: null,
    tasks: null,
    reason: null,
    ...over,
  }
}

function attempt(
  n: number,
  task: string,
  number: number,
  state: AttemptRecord['state'],
  over: Partial<AttemptRecord> = {},
): AttemptRecord {
  return {
    turn: n,
    task,
    n: number,
    state,
    startedAt: n * 100,
    endedAt: n * 100 + 10,
    result: null,
    error: null,
    retryAt: null,
    ...over,
  }
}

const brief = (histories: ReturnType<typeof taskHistories>) =>
  Object.fromEntries(
    histories.map(({ task, state, failures, attempts }) => [
      task,
      [state, failures, attempts.map(({ n, turn: t, state: s }) => `${t}.${n} ${s}`).join(', ')],
    ]),
  )

describe('the history of tasks', () => {
  it('is pending for all before the first turn', () => {
    expect(brief(taskHistories(chain, [], []))).toEqual({ a: ['pending', 0, ''], b: ['pending', 0, ''], c: ['pending', 0, ''] })
  })

  it('JB-1 takes the one attempt of a one-task turn from the turn itself', () => {
    const [history] = taskHistories(one, [turn(1, 'completed', { attempt: 'succeeded', result: '7' })], [])
    expect(history).toMatchObject({
      state: 'succeeded',
      result: '7',
      failures: 0,
      attempts: [{ n: 1, turn: 1, state: 'succeeded', startedAt: 100, endedAt: 150, result: '7', error: null }],
    })
  })

  it('numbers the attempts of one-task turns on', () => {
    const error = { message: 'no' }
    const turns = [
      turn(1, 'parked', { attempt: 'failed', error }),
      turn(2, 'parked', { attempt: 'timeout' }),
      turn(3, 'failed', { attempt: 'failed', error }),
    ]
    expect(brief(taskHistories(one, turns, []))).toEqual({ run: ['failed', 3, '1.1 failed, 2.2 timeout, 3.3 failed'] })
  })

  it('counts attempts that were recorded inside a turn before the turn itself', () => {
    const turns = [turn(1, 'completed', { attempt: 'succeeded' })]
    expect(brief(taskHistories(one, turns, [attempt(1, 'run', 1, 'failed', { retryAt: 120 })]))).toEqual({
      run: ['succeeded', 1, '1.1 failed, 1.2 succeeded'],
    })
  })

  it('TM-12 a turn lost with its node is a lost attempt that costs no retry', () => {
    const turns = [turn(1, 'lost'), turn(2, 'parked', { attempt: 'failed' })]
    expect(brief(taskHistories(one, turns, []))).toEqual({ run: ['pending', 1, '1.1 lost, 2.2 failed'] })
  })

  it('JB-10 a stale turn is an attempt that overran, and counts', () => {
    expect(brief(taskHistories(one, [turn(1, 'stale')], []))).toEqual({ run: ['pending', 1, '1.1 stale'] })
  })

  it('of a lost turn, the tasks that could run are those that were cut', () => {
    const done = attempt(1, 'a', 1, 'succeeded', { result: '1' })
    expect(brief(taskHistories(chain, [turn(1, 'lost')], [done]))).toEqual({
      a: ['succeeded', 0, '1.1 succeeded'],
      b: ['pending', 0, '1.1 lost'],
      c: ['pending', 0, ''],
    })
    expect(brief(taskHistories(fan, [turn(1, 'lost')], [done]))).toEqual({
      a: ['succeeded', 0, '1.1 succeeded'],
      b: ['pending', 0, '1.1 lost'],
    })
  })

  it('rule 9: a turn buried by a rescue is a cut turn too', () => {
    const turns = [
      turn(1, 'lost'),
      turn(2, 'lost'),
      turn(3, 'dead', { reason: 'lost', error: { message: 'lost with its node' } }),
    ]
    expect(brief(taskHistories(one, turns, []))).toEqual({ run: ['pending', 0, '1.1 lost, 2.2 lost, 3.3 lost'] })
    expect(brief(taskHistories(one, [turn(1, 'dead', { reason: 'stale' })], []))).toEqual({ run: ['timeout', 1, '1.1 stale'] })
  })

  it('released turns leave no attempt', () => {
    expect(brief(taskHistories(one, [turn(1, 'released', { startedAt: null })], []))).toEqual({ run: ['pending', 0, ''] })
  })

  it('JB-12 attempts of several tasks keep their results through parking', () => {
    const attempts = [
      attempt(1, 'a', 1, 'succeeded', { result: '{"n":1}' }),
      attempt(1, 'b', 1, 'failed', { retryAt: 500 }),
      attempt(2, 'b', 2, 'succeeded', { result: '2' }),
    ]
    const histories = taskHistories(chain, [turn(1, 'parked'), turn(2, 'parked')], attempts)
    expect(brief(histories)).toEqual({
      a: ['succeeded', 0, '1.1 succeeded'],
      b: ['succeeded', 1, '1.1 failed, 2.2 succeeded'],
      c: ['pending', 0, ''],
    })
    expect(histories.map(({ result }) => result)).toEqual(['{"n":1}', '2', null])
  })

  it('a failed task that is tried again is pending until its retry is due', () => {
    const [, b] = taskHistories(
      chain,
      [turn(1, 'parked')],
      [attempt(1, 'a', 1, 'succeeded'), attempt(1, 'b', 1, 'failed', { retryAt: 500 })],
    )
    expect(b).toMatchObject({ state: 'pending', failures: 1, retryAt: 500 })
  })

  it('shows attempts of the turn that runs now', () => {
    expect(brief(taskHistories(chain, [turn(1, 'parked')], [attempt(2, 'a', 1, 'succeeded')]))).toMatchObject({
      a: ['succeeded', 0, '2.1 succeeded'],
    })
  })

  it('tells failed for good from timed out and canceled', () => {
    const tasks = [{ task: 'b', state: 'canceled' as const, attempts: 0, durationMs: 0, canceledBy: 'a' }]
    expect(brief(taskHistories(fan, [turn(1, 'failed', { tasks })], [attempt(1, 'a', 1, 'failed')]))).toEqual({
      a: ['failed', 1, '1.1 failed'],
      b: ['canceled', 0, ''],
    })
    expect(brief(taskHistories(one, [turn(1, 'failed')], [attempt(1, 'run', 1, 'timeout')]))).toEqual({
      run: ['timeout', 1, '1.1 timeout'],
    })
  })

  it('TM-10 a retry by a person starts the count afresh and keeps what succeeded', () => {
    const attempts = [
      attempt(1, 'a', 1, 'succeeded', { result: '1' }),
      attempt(1, 'b', 1, 'failed', { retryAt: 120 }),
      attempt(1, 'b', 2, 'failed'),
    ]
    const dead = turn(1, 'dead')
    expect(brief(taskHistories(chain, [dead], attempts))).toMatchObject({ b: ['failed', 2, '1.1 failed, 1.2 failed'] })
    const retried = taskHistories(chain, [dead, turn(2, 'parked')], [...attempts, attempt(2, 'b', 3, 'failed', { retryAt: 250 })])
    expect(brief(retried)).toMatchObject({
      a: ['succeeded', 0, '1.1 succeeded'],
      b: ['pending', 1, '1.1 failed, 1.2 failed, 2.3 failed'],
    })
  })

  it('passes over tasks that the job no longer has', () => {
    expect(brief(taskHistories(one, [turn(1, 'parked')], [attempt(1, 'gone', 1, 'failed')]))).toEqual({ run: ['pending', 0, ''] })
  })
})
