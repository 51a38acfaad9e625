import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import process from 'node:process'

/** Packs the package, built before, into a tarball in `folder`. */
export function pack(folder) {
  const args = ['pack', '--ignore-scripts', '--json', '--loglevel=error', '--pack-destination', folder]
  const { status, stdout, stderr } = npm(args)
  if (status !== 0) return { ok: false, output: stdout + stderr }
  return { ok: true, file: join(folder, JSON.parse(stdout)[0].filename) }
}

/** Runs npm: the one that runs us, else the one on the path. */
export function npm(args, options = {}) {
  const cli = process.env.npm_execpath
  const settings = { encoding: 'utf8', ...options }
  if (cli) return spawnSync(process.execPath, [cli, ...args], settings)
  return spawnSync('npm', args, { ...settings, shell: process.platform === 'win32' })
}
