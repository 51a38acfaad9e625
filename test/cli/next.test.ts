import { describe, expect, test } from 'vitest'
import { punctual } from './punctual-process.ts'

describe('punctual next', () => {
  test('shows local time, UTC and offset, marks clock changes, and warns', async () => {
    const { code, stdout, stderr } = await punctual([
      'next',
      '30 2 * * *',
      '--tz',
      'Europe/Warsaw',
      '--count',
      '3',
      '--from',
      '2027-03-27',
    ])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toBe(
      [
        'At 02:30 (Europe/Warsaw)',
        '',
        'LOCAL                    UTC                   OFFSET  CLOCK',
        'Sat 2027-03-27 02:30:00  2027-03-27T01:30:00Z  +01:00',
        'Sun 2027-03-28 03:00:00  2027-03-28T01:00:00Z  +02:00  the clock has just gone forward',
        'Mon 2027-03-29 02:30:00  2027-03-29T00:30:00Z  +02:00',
        '',
        'warning: Times that the clock change of Europe/Warsaw skips are made up for by one run right after it. First at 2027-03-28T01:00:00.000Z.',
        '',
      ].join('\n'),
    )
  })

  test('takes a duration', async () => {
    const { stdout } = await punctual(['next', '90m', '--count', '2', '--from', '2026-10-25', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({
      description: 'Every 1 hour 30 minutes (UTC)',
      instants: [{ utc: '2026-10-25T01:30:00Z' }, { utc: '2026-10-25T03:00:00Z' }],
    })
  })

  test('tells the same as JSON', async () => {
    const { code, stdout } = await punctual([
      'next',
      '0 2 * * *',
      '--tz',
      'Europe/Warsaw',
      '--count',
      '2',
      '--from',
      '2026-10-25',
      '--json',
    ])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      schedule: { kind: 'cron', text: '0 2 * * *', timezone: 'Europe/Warsaw' },
      description: 'At 02:00 (Europe/Warsaw)',
      zone: 'Europe/Warsaw',
      from: '2026-10-24T22:00:00.000Z',
      instants: [
        { utc: '2026-10-25T00:00:00Z', local: '2026-10-25T02:00:00', offset: '+02:00', weekday: 'Sun', mark: 'first-pass' },
        { utc: '2026-10-26T01:00:00Z', local: '2026-10-26T02:00:00', offset: '+01:00', weekday: 'Mon', mark: 'changed' },
      ],
      warnings: [{ code: 'made-up' }],
    })
  })

  const instants = async (...args: string[]): Promise<string[]> =>
    JSON.parse((await punctual(['next', ...args, '--json'])).stdout).instants.map((row: { utc: string }) => row.utc)

  test('reads every kind of text', async () => {
    expect(await instants('PT15M', '--count', '2', '--from', '2026-01-01T00:00:00Z')).toEqual([
      '2026-01-01T00:15:00Z',
      '2026-01-01T00:30:00Z',
    ])
    expect(await instants('R3/2026-01-31T00:00:00Z/P1M', '--from', '2026-01-01')).toEqual([
      '2026-01-31T00:00:00Z',
      '2026-02-28T00:00:00Z',
      '2026-03-31T00:00:00Z',
    ])
    expect(await instants('DTSTART:20260105T090000Z\nRRULE:FREQ=WEEKLY;COUNT=2', '--from', '2026-01-01')).toEqual([
      '2026-01-05T09:00:00Z',
      '2026-01-12T09:00:00Z',
    ])
    expect(await instants('2026-11-15T06:00:00Z', '--tz', 'Asia/Tokyo', '--from', '2026-01-01')).toEqual(['2026-11-15T06:00:00Z'])
  })

  test('an instant right at --from counts', async () => {
    expect(await instants('0 6 * * *', '--count', '1', '--from', '2026-01-01T06:00:00Z')).toEqual(['2026-01-01T06:00:00Z'])
  })

  test('a schedule that never fires is told, not refused', async () => {
    const { code, stdout } = await punctual(['next', '0 0 31 2 *'])
    expect(code).toBe(0)
    expect(stdout).toContain('warning: It never fires')
  })

  test.each([
    [['0 25 * * *'], 'at position 2: 25 is outside 0 to 23 (schedule.invalid)'],
    [['0 0 * * *', '--tz', 'Mars/Base'], '(zone.invalid)'],
    [['0 0 * * *', '--from', 'yesterday'], '(instant.invalid)'],
    [['0 0 * * *', '--from', '2026-02-30'], '(instant.invalid)'],
  ])('%j is refused with exit code 1', async (args, message) => {
    const { code, stdout, stderr } = await punctual(['next', ...args])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain(message)
  })
})
