/** The same random strings each time: half of them five fields that are nearly cron, half of any characters. */
export function* randomStrings(count: number): Generator<string, void, undefined> {
  let state = 42
  const random = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const pieces = [
    '*',
    '*/5',
    '0',
    '7',
    '1-5',
    '12/3',
    '31',
    '2',
    'L',
    'L-3W',
    '15W',
    '5#5',
    'FEB',
    'MON',
    '60',
    ',',
    '?',
    '-',
    '/',
  ]
  const field = () => Array.from({ length: 1 + (random(4) === 0 ? 1 : 0) }, () => pieces[random(pieces.length)]).join('')
  const noise = (i: number) => String.fromCharCode(random(i % 4 === 1 ? 128 : 65_536))
  for (let i = 0; i < count; i++) {
    if (i % 2 === 0) yield Array.from({ length: 5 }, field).join(' ')
    else yield Array.from({ length: 1 + random(i % 10 === 1 ? 300 : 30) }, () => noise(i)).join('')
  }
}
