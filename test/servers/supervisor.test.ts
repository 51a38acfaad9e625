import { existsSync } from 'node:fs'
import { describe, expect, it, vi } from 'vitest'
import { patiently } from '../support/patiently.ts'
import { isLeftOut, postgres } from '../support/servers/needed.ts'
import { childrenOf, isAnyRunning } from '../support/servers/process-tree.ts'
import { startWorker } from '../support/worker-process.ts'

describe.skipIf(isLeftOut(postgres))('the server of a process that is killed', () => {
  it.each(['running', 'frozen'])('goes with it, and so does its folder, when it was %s', async (state) => {
    const parent = startWorker(new URL('./orphan.process.ts', import.meta.url), state)
    const { pid, folder } = await parent.until(({ what }) => what === 'started')
    const processes = [pid as number, ...childrenOf(pid as number)]
    expect([processes.length > 1, isAnyRunning(processes)]).toEqual([true, true])
    parent.child.kill('SIGKILL')
    await vi.waitFor(() => expect([isAnyRunning(processes), existsSync(folder as string)]).toEqual([false, false]), patiently)
  })
})
