import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'

/** Runs a module as Node.js 20 would see itself. */
function onNode20(code: string) {
  const old = "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } })"
  const args = ['--import', `data:text/javascript,${encodeURIComponent(old)}`, '--input-type=module', '-e', code]
  return spawnSync(process.execPath, args, { encoding: 'utf8' })
}

test.each([
  ['the library', "import { cron } from './dist/index.js'; console.log(cron('* * * * *').describe())"],
  ['the SQLite store', "import { sqlite } from './dist/store/sqlite/index.js'; sqlite(':memory:')"],
  ['the command', "process.argv = ['node', 'punctual', '--version']; await import('./dist/cli/main.js')"],
])('%s names the Node.js version that it needs', (_, code) => {
  const { status, stdout, stderr } = onNode20(code)
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toContain('punctual needs Node.js 22.12 or later; this is 20.19.0')
})
