/**
 * Real time and chance enter through few doors: everything else in src receives a clock and a random source, so the
 * whole engine runs on a manual clock. This names each place that reaches past them.
 */
import { globSync, readFileSync } from 'node:fs'
import process from 'node:process'

const doors = /^src\/(time\/clock\.ts|testing\/manual-clock\.ts|engine\/loop\.ts|cli\/|http\/)/

const reaches = [
  /\bDate\.now\b/,
  /\bnew Date\b(?!\s*\(\s*[^\s)])/,
  /(?<!new )(?<![.\w])Date\(/,
  /((?<![.\w])|\bglobalThis\.)(setTimeout|setInterval|setImmediate|performance)\b/,
  /\bprocess\.(nextTick|hrtime|uptime)\b/,
  /\bMath\.random\b/,
  /\bTemporal\.Now\b/,
  /\bfrom ['"](node:)?(timers|timers\/promises|perf_hooks)['"]/,
]

const found = globSync('src/**/*.ts')
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => !doors.test(file))
  .sort()
  .flatMap(reachesIn)

for (const { file, line, text } of found) console.log(`${file}:${line}: ${text}`)
if (found.length > 0) console.log('Use the clock and the random source that are passed in (see src/time/clock.ts).')
process.exit(found.length > 0 ? 1 : 0)

function reachesIn(file) {
  const lines = withoutProse(readFileSync(file, 'utf8')).split('\n')
  return lines.flatMap((text, index) =>
    reaches.some((reach) => reach.test(text)) ? [{ file, line: index + 1, text: text.trim() }] : [],
  )
}

/** Blanks comments and the words inside strings and templates; keeps line numbers, import paths and the code in templates. */
function withoutProse(source) {
  const prose = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|(?<!\bfrom )(?:'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*")|`(?:\\.|[^`\\])*`/g
  return source.replace(prose, (text) => text.replace(text.startsWith('`') ? /\$\{[^}]*\}|[^\n]/g : /[^\n]/g, blankText))
}

function blankText(part) {
  return part.startsWith('${') ? part : ' '
}
