import { expect, it, onTestFinished, vi } from 'vitest'
import type { Env } from '../../src/engine/env.ts'
import { WorkerPool } from '../../src/engine/node/worker-pool.ts'

import { patiently } from '../support/patiently.ts'

const module = new URL('../support/threads/work.process.ts', import.meta.url).href

it('a thread that breaks down after its work was taken from it ends no process, and is logged', async () => {
  const warnings: string[] = []
  // What is to be terminated is terminated at once.
  const timer = (_: number, fn: () => void) => {
    fn()
    return () => {}
  }
  const clock = { timer } as unknown as Env['clock']
  const log = { warn: (message: string) => void warnings.push(message) } as unknown as Env['log']
  const options = { concurrency: 1, writeOffMs: 0 } as Env['options']
  const pool = new WorkerPool({ clock, log, options })
  onTestFinished(() => pool.close())
  const controller = new AbortController()
  const progress = () => {
    // The thread breaks down meanwhile, and the news of that wait behind this.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
    controller.abort({ code: 'cancel', message: 'no more' })
  }
  const ctx = { payload: 'break', signal: controller.signal, progress, log, results: {} } as never
  await expect(pool.handler(module)(ctx)).rejects.toThrow()
  await vi.waitFor(() => expect(warnings).toHaveLength(1), patiently)
})
