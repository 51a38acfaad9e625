/** Bundles what tsc emitted: a few files of JavaScript and of declarations instead of one for each module. */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import process from 'node:process'
import { rolldown } from 'rolldown'
import { bundleDeclarations } from './declarations.mjs'

if (import.meta.main) await bundle(process.argv[2])

/** Bundles `folder` in place. */
export async function bundle(folder) {
  const files = globSync('**/*.js', { cwd: folder, exclude: (path) => /(^|[\\/])dashboard$/.test(path) })
  const { exports, bin } = JSON.parse(readFileSync('package.json', 'utf8'))
  const doors = Object.values(exports).flatMap((door) => door.default?.slice('./dist/'.length) ?? [])
  const programs = Object.values(bin).map((file) => file.slice('dist/'.length))
  // Threads are started by their path. The check of the version of Node must come before everything else.
  const alone = files.filter((file) => /(-thread|worker-task|node-version)\.js$/.test(file))
  const input = Object.fromEntries(
    [...doors, ...programs, ...alone].map((file) => [file.slice(0, -'.js'.length), join(folder, file)]),
  )
  const made = await rolldown({ input, external: /^[^./]/, logLevel: 'warn', plugins: [ownPlace(folder)] })
  const { output } = await made.generate({ format: 'esm', entryFileNames: '[name].js', chunkFileNames: 'chunk/[name].js' })
  await made.close()
  for (const file of files) rmSync(join(folder, file))
  for (const { fileName, code } of output) {
    mkdirSync(dirname(join(folder, fileName)), { recursive: true })
    writeFileSync(join(folder, fileName), code)
  }
  await bundleDeclarations(folder, doors)
}

/** `import.meta.url` stays the place that the module has without a bundle: others are found from there. */
function ownPlace(folder) {
  const mark = (file) => `__place_of__(${JSON.stringify(file)})`
  return {
    name: 'own-place',
    transform(code, id) {
      const file = relative(resolve(folder), id).split(sep).join('/')
      // In messages and comments it stays a text.
      return code.replace(/^(?!.*(?:such as|\* )).*$/gm, (line) => line.replaceAll('import.meta.url', mark(file)))
    },
    renderChunk(code, { fileName }) {
      const placed = (_, file) => `new URL(${JSON.stringify(toFile(fileName, file))}, import.meta.url).href`
      return code.replace(/^\/\/#(?:end)?region.*\n/gm, '').replace(/__place_of__\("([^"]+)"\)/g, placed)
    },
  }
}

function toFile(from, to) {
  return `./${relative(dirname(from), to).split(sep).join('/')}`
}
