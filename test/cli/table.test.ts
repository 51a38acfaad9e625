import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { nearest } from '../../src/cli/config/suggestion.ts'
import { commandWords, withoutCommand } from '../../src/cli/operation/commands.ts'
import { fieldsOf, kebab } from '../../src/cli/operation/flags.ts'
import { formOf } from '../../src/cli/operation/forms.ts'
import { partsOf } from '../../src/cli/operation/input.ts'
import { counted, table } from '../../src/cli/print.ts'
import { allCommands } from '../../src/cli/program.ts'
import { operation, operationNames } from '../../src/client/operation.ts'

const root = allCommands(() => ({ path: null, values: {} }))

function find(words: string): Command | undefined {
  return words
    .split(' ')
    .reduce<Command | undefined>((command, word) => command?.commands.find((one) => one.name() === word), root)
}

describe('commands come from the table of operations', () => {
  test.each(operationNames.filter((name) => !withoutCommand.includes(name)))('%s has its command, with every field', (name) => {
    const command = find(commandWords(name)) as Command
    expect(command).toBeDefined()
    const taken = [
      ...command.options.map(({ long }) => long),
      ...command.registeredArguments.map((argument) => `--${argument.name()}`),
    ]
    const own = name === 'explain.get' ? [] : fieldsOf(operation(name))
    const flags = own.map((field) => (field.part === 'headers' ? '--expect-version' : `--${kebab(field.name)}`))
    expect(flags.filter((flag) => !taken.includes(flag))).toEqual([])
    expect(taken).toEqual(expect.arrayContaining(['--store', '--server', '--token']))
    if (operation(name).dangerous) expect(taken).toContain('--yes')
  })

  test('only those that set cookies have none', () => {
    expect(withoutCommand).toEqual(['session.open', 'session.close'])
  })

  test('flags become the parts of a request, and a filter is put together', () => {
    expect(
      partsOf('operations.start', { kind: 'retry', job: 'report', state: ['dead'], reason: 'x', mode: 'all' }),
    ).toMatchObject({
      body: { kind: 'retry', filter: { job: 'report', state: ['dead'] }, reason: 'x' },
    })
    expect(partsOf('jobs.update', { job: 'a', schedule: 'none', expectVersion: 3, tenant: 't' })).toEqual({
      params: { job: 'a' },
      query: { tenant: 't' },
      headers: { 'if-match': '"3"' },
      body: { schedule: null },
    })
  })
})

describe('answers as text', () => {
  test('a timeline counts what each lane has, and a number goes with its noun', () => {
    const lane = { marks: ['on-time'], nextRun: null, open: [], past: null, bins: null, coming: null, comingBins: null }
    const lanes = [
      { ...lane, tenant: 'default', job: 'report', past: [{ state: 'completed' }, { state: 'failed' }, { state: 'completed' }] },
      {
        ...{ ...lane, tenant: 'default', job: 'sync', marks: ['late'], open: [{}], comingBins: [{ at: 'x', count: 7 }] },
        bins: [
          { at: 'x', completed: 200, failed: 0, missed: 1, skipped: 0, canceled: 0 },
          { at: 'y', completed: 50, failed: 0, missed: 0, skipped: 0, canceled: 0 },
        ],
      },
    ]
    const answer = { now: '2026-11-19T03:40:25.000Z', lanes, more: 0, outages: [] }
    const text = formOf('timeline.get').show?.(answer as never, {}) ?? ''
    expect(text.split('\n').map((line) => line.trimEnd().split(/ {2,}/))).toEqual([
      ['', 'now', '2026-11-19 03:40:25Z'],
      [''],
      ['TENANT', 'JOB', 'STATUS', 'PAST', 'OPEN', 'COMING', 'NEXT RUN'],
      ['default', 'report', '2 completed, 1 failed', '0'],
      ['default', 'sync', 'late', '250 completed, 1 missed', '1', '7'],
    ])
    expect([counted(1, 'node'), counted(0, 'node'), counted(2, 'node')]).toEqual(['1 node', '0 nodes', '2 nodes'])
  })
})

test('the overview names the kind, the job and the reason of each problem', () => {
  const problem = { task: null, cause: 'c1', capped: false, tenants: [], firstAt: null, sample: null, code: null, why: null }
  const answer = {
    ...{
      now: '2026-11-19T03:40:25.000Z',
      health: { state: 'ok', reasons: [] },
      counts: { dead: 2 },
      jobs: { total: 3 },
      late: {},
    },
    ...{
      failed: { lastHour: 0, dead: 2, causes: 1 },
      running: { count: 0, slots: 10, beating: 1 },
      waiting: { by: {} },
      paused: false,
    },
    attention: [
      {
        ...problem,
        kind: 'dead',
        tenant: 'default',
        job: 'boom',
        label: 'it fell',
        count: 2,
        lastAt: '2026-11-19T03:40:18.000Z',
      },
      { ...problem, kind: 'unserved', tenant: null, job: 'gone', label: 'no handlers', why: 'no node', count: 1, lastAt: null },
    ],
  }
  const text = formOf('overview.get').show?.(answer as never, {}) ?? ''
  expect(text).toContain('2 dead, 1 cause\n')
  expect(text.split('\n').slice(-3)).toEqual([
    'PROBLEM   COUNT  TENANT   JOB   LAST                  WHAT',
    'dead      2      default  boom  2026-11-19 03:40:18Z  it fell',
    'unserved  1               gone                        no handlers: no node',
  ])
})

describe('tables', () => {
  const rows = [
    ['completed', 'a-job-with-a-long-name', '01a1e133-38fc-71d6-a05c-514da9ff1aed'],
    ['dead', 'b', '01a1e133-38fc-71d6-a05c-514da9ff1aee'],
  ]

  test.each([70, 64, 60])('fit a terminal of %i columns, and ids stay whole', (room) => {
    const text = table(['STATE', 'JOB', 'ID'], rows, room)
    for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(room)
    expect(text).toContain('01a1e133-38fc-71d6-a05c-514da9ff1aed')
  })

  test('stand one below the other where the terminal is too narrow', () => {
    expect(table(['STATE', 'JOB', 'ID'], rows, 50)).toMatch(/^ {2}STATE {2}completed\n {2}JOB {4}a-job-with-a-long-name\n/)
  })
})

test.each([
  ['sotre', 'store'],
  ['PUNCTUAL_STROE', 'PUNCTUAL_STORE'],
  ['prot', 'port'],
  ['zebra', null],
])('%s: did you mean %s', (given, meant) => {
  expect(nearest(given, ['store', 'port', 'PUNCTUAL_STORE', 'PUNCTUAL_PORT'])).toBe(meant)
})
