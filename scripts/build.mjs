/** Builds dist from src, and the dashboard into it. When the sources are those of the last build, it does nothing. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import process from 'node:process'
import { tool } from './tool.mjs'

const stamp = 'node_modules/.punctual/built'
const sources = [
  'src/**/*.*',
  'dashboard/**/*.*',
  'tsconfig*.json',
  'scripts/build.mjs',
  'scripts/bundle.mjs',
  'scripts/declarations.mjs',
  'package.json',
  'package-lock.json',
]

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
  const bundled = spawnSync(process.execPath, ['scripts/bundle.mjs', fresh], { encoding: 'utf8' })
  if (bundled.status !== 0) {
    rmSync(fresh, { recursive: true, force: true })
    return { ok: false, output: bundled.stdout + bundled.stderr }
  }
  const vite = buildDashboard(`${fresh}/dashboard`)
  if (vite.status !== 0) {
    rmSync(fresh, { recursive: true, force: true })
    return { ok: false, output: vite.stdout + vite.stderr }
  }
  replace('dist', fresh)
  mkdirSync('node_modules/.punctual', { recursive: true })
  writeFileSync(stamp, wanted)
  return { ok: true, output: tsc.stdout }
}

function buildDashboard(folder) {
  const args = ['build', 'dashboard', '--outDir', resolve(folder), '--logLevel', 'warn']
  return spawnSync(process.execPath, [tool('vite'), ...args], { encoding: 'utf8' })
}

/** Replaces the folder by renames: a process that starts meanwhile never sees half of dist. */
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
