/** Builds dist from src. When the sources are those of the last build, it does nothing. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import process from 'node:process'
import { tool } from './tool.mjs'

const stamp = 'node_modules/.punctual/built'
const sources = ['src/**/*.*', 'dashboard/**/*.*', 'tsconfig*.json', 'package-lock.json']

if (import.meta.main) {
  const { ok, output } = build()
  if (output) console.log(output)
  process.exit(ok ? 0 : 1)
}

/** A failed build leaves the last good dist as it was. */
export function build() {
  const wanted = hashOf(sources)
  if (existsSync('dist') && existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return { ok: true, output: '' }
  const fresh = `node_modules/.punctual/dist-${process.pid}`
  const tsc = spawnSync(process.execPath, [tool('tsc'), '-p', 'tsconfig.build.json', '--outDir', fresh], { encoding: 'utf8' })
  if (tsc.status !== 0) {
    rmSync(fresh, { recursive: true, force: true })
    return { ok: false, output: tsc.stdout + tsc.stderr }
  }
  replace('dist', fresh)
  mkdirSync('node_modules/.punctual', { recursive: true })
  writeFileSync(stamp, wanted)
  return { ok: true, output: tsc.stdout }
}

/** Renames, so that a process that starts meanwhile never sees half of dist. */
function replace(folder, fresh) {
  const old = `${fresh}-old`
  if (existsSync(folder)) renameSync(folder, old)
  renameSync(fresh, folder)
  rmSync(old, { recursive: true, force: true })
}

function hashOf(patterns) {
  const hash = createHash('sha256')
  const exclude = (path) => /(^|[\\/])(node_modules|dist)$/.test(path)
  for (const file of globSync(patterns, { exclude }).sort()) hash.update(`${file}\0`).update(readFileSync(file)).update('\0')
  return hash.digest('hex')
}
