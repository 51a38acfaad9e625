import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { howToGive, isLeftOut, type NeededServer, pgbouncer, postgres, programsOf } from '../support/servers/needed.ts'

const absent: NeededServer = { name: 'Absent', variable: 'PUNCTUAL_TEST_ABSENT', package: 'absent', find: () => null }
const present: NeededServer = { ...absent, find: () => '/usr/bin/absent' }

describe('a server that the machine lacks', () => {
  it('is named together with the three ways to give it', () => {
    expect(howToGive([postgres, pgbouncer])).toMatch(
      /^The tests need PostgreSQL and pgbouncer.* PUNCTUAL_TEST_POSTGRES .*PATH.* root on Debian/,
    )
    expect(() => programsOf(absent)).toThrow(howToGive([absent]))
  })

  it('is left out of the tests only when another is given by URL', () => {
    expect([isLeftOut(absent), isLeftOut(present)]).toEqual([false, false])
    vi.stubEnv(absent.variable, 'absent://127.0.0.1')
    onTestFinished(() => void vi.unstubAllEnvs())
    expect([isLeftOut(absent), isLeftOut(present)]).toEqual([true, false])
  })
})
