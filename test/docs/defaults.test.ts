import { createPunctual, type PunctualError } from 'punctual'
import { memory } from 'punctual/memory'
import { describe, expect, test } from 'vitest'
import { mostInstants } from '../../src/client/backfills.ts'
import { defaultOptions } from '../../src/engine/env.ts'
import { limits } from '../../src/model/limits.ts'
import { mostBounded, type RecoveryPolicy, singleRecords } from '../../src/model/recovery.ts'
import { plainAge, type RetentionPolicy } from '../../src/model/retention.ts'
import { defaultRetry } from '../../src/model/retry.ts'
import { defaultSettings, settingNames } from '../../src/model/settings.ts'
import { longestDurationMs } from '../../src/time/duration.ts'
import { tableRows } from './page.ts'

const page = 'docs/reference/defaults.md'
const documented = (heading: string) => Object.fromEntries(tableRows(page, heading).map(([name, value]) => [name, value]))

/** Options whose name inside is another. */
const publicNames: Readonly<Record<string, string>> = {
  clusterLimit: 'clusterConcurrency',
  beatMs: 'node.heartbeat',
  ttlMs: 'node.timeout',
  watchMs: 'node.checkInterval',
  writeOffMs: 'node.abandonAfter',
}

/** A setting and its value as the page writes them. */
function written(name: string, value: unknown): [string, string] {
  return [publicNames[name] ?? name.replace(/Ms$/, ''), writtenValue(name, value)]
}

function writtenValue(name: string, value: unknown): string {
  if (value === null) return name.endsWith('RetentionMs') ? "'forever'" : 'none'
  if (name === 'retention') return duration(plainAge(value as RetentionPolicy) as number)
  if (name === 'recovery') return (value as RecoveryPolicy).strategy
  return name.endsWith('Ms') ? duration(value as number) : String(value)
}

function duration(ms: number): string {
  const units: [string, number][] = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
  ]
  const [unit, length] = units.find(([, length]) => ms >= length && ms % length === 0) ?? ['ms', 1]
  return `${ms / length} ${unit}`
}

describe('JS-8 the table of defaults', () => {
  test('has every setting of work with its default', () => {
    const { retry: _, ...settings } = defaultSettings
    const code = [
      ...Object.entries(defaultRetry).map(([name, value]) => written(`retry.${name}`, value)),
      ...Object.entries(settings).map(([name, value]) => written(name, value)),
    ]
    expect(documented('Settings of work')).toEqual(Object.fromEntries(code))
  })

  test('has every setting of a node with its default, and what is fixed', () => {
    const { deafPollMs, horizonMs, ttlMarginMs, mostRecoveries, ...settable } = defaultOptions
    expect(documented('Settings of a node')).toEqual({
      ...Object.fromEntries(Object.entries(settable).map(([name, value]) => written(name, value))),
      'poll without hints': duration(deafPollMs),
      'planning horizon': duration(horizonMs),
      'margin of the timeout': duration(ttlMarginMs),
      'recoveries before work is dead': String(mostRecoveries),
    })
  })

  test('names every option that createPunctual takes', () => {
    const given = tableRows(page, 'Settings of a node').map(([name]) => name?.split('.')[0])
    const plumbing = ['store', 'jobs', 'handlers', 'name', 'codec', 'log', 'clock', 'random']
    const missing = allowedOptions().filter((name) => ![...given, ...plumbing, ...settingNames].includes(name))
    expect(missing).toEqual([])
  })

  test.each(tableRows(page, 'Other names'))('%s is %s, and no option', (name = '', own = '') => {
    const [target = ''] = own.split(',')
    const settings = [...tableRows(page, 'Settings of work'), ...tableRows(page, 'Settings of a node')].map(
      ([setting]) => setting,
    )
    expect(settings).toContain(target)
    expect(allowedOptions()).not.toContain(name)
  })

  test('has the limits of the code', () => {
    const values = tableRows(page, 'Limits').map(([, limit]) => Number(limit?.replace(',', '').match(/\d+/)?.[0]))
    expect(values).toEqual([
      limits.name,
      limits.key,
      limits.scheduleText,
      longestDurationMs / (365.25 * 86_400_000),
      0,
      limits.zone,
      limits.payloadBytes / 1024,
      limits.errorText,
      mostBounded,
      singleRecords,
      mostInstants,
    ])
    expect(limits.entity).toBe(limits.key)
    expect(limits.resultBytes).toBe(limits.payloadBytes)
  })
})

function allowedOptions(): string[] {
  try {
    createPunctual({ store: memory(), nothing: 1 } as never)
  } catch (error) {
    return (error as PunctualError).details.allowed as string[]
  }
  throw new Error('an unknown option was taken')
}
