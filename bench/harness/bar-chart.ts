import type { Bar } from './comparison.ts'

const [labelWidth, barWidth, valueWidth, rowHeight, top] = [290, 420, 120, 24, 56]
const width = labelWidth + barWidth + valueWidth

/** An SVG of ratios as bars from 1× on, to the right where they are better and to the left where they are worse, with their spread. */
export function barChart(title: string, bars: readonly Bar[]): string {
  const ends = bars.flatMap(({ ratio }) => [ratio.median, ratio.min, ratio.max])
  const lowest = Math.min(0.5, ...ends)
  const highest = Math.max(2, ...ends)
  // Each doubling has the same width: twice as fast and half as fast look alike.
  const x = (ratio: number) => labelWidth + (barWidth * Math.log(ratio / lowest)) / Math.log(highest / lowest)
  const height = top + bars.length * rowHeight + 16
  const lines = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    `<text x="12" y="22" font-size="15" font-weight="bold" fill="#1f2328">${escaped(title)}</text>`,
    ...ticks(lowest, highest).map((tick) => gridLine(x(tick), `${tick}×`, height, tick === 1)),
    ...bars.map((bar, at) => row(bar, top + at * rowHeight, x)),
    '</svg>',
  ]
  return `${lines.join('\n')}\n`
}

function ticks(lowest: number, highest: number): number[] {
  const all = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000]
  return all.filter((tick) => tick >= lowest && tick <= highest)
}

function gridLine(x: number, label: string, height: number, isBase: boolean): string {
  const at = x.toFixed(1)
  return `<path d="M${at} ${top - 6}V${height - 10}" stroke="${isBase ? '#1f2328' : '#d1d9e0'}"/><text x="${at}" y="${top - 12}" text-anchor="middle" fill="#59636e">${label}</text>`
}

function row({ label, ratio }: Bar, y: number, x: (ratio: number) => number): string {
  const [from, to] = [x(Math.min(1, ratio.median)), x(Math.max(1, ratio.median))]
  const middle = y + rowHeight / 2
  const colour = ratio.median >= 1 ? '#1a7f37' : '#cf222e'
  const text = ratio.median.toFixed(ratio.median >= 10 ? 0 : 2)
  return [
    `<text x="${labelWidth - 8}" y="${middle + 4}" text-anchor="end" fill="#1f2328">${escaped(label)}</text>`,
    `<rect x="${from.toFixed(1)}" y="${y + 5}" width="${Math.max(1, to - from).toFixed(1)}" height="${rowHeight - 10}" fill="${colour}"/>`,
    `<path d="M${x(ratio.min).toFixed(1)} ${middle}H${x(ratio.max).toFixed(1)}" stroke="#1f2328"/>`,
    `<text x="${labelWidth + barWidth + 12}" y="${middle + 4}" fill="#1f2328">${text}×</text>`,
  ].join('')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
