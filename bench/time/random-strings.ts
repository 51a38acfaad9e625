/** The same random strings each time: half of them near cron texts, half of any characters. */
export function* randomStrings(count: number): Generator<string, void, undefined> {
  let state = 42
  const random = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  const near = '0123456789*/,-?LW# MONFEB@'
  for (let i = 0; i < count; i++) {
    const length = 1 + random(i % 10 === 0 ? 300 : 30)
    let text = ''
    for (let at = 0; at < length; at++) {
      if (i % 2 === 0) text += random(3) === 0 ? ' ' : near[random(near.length)]
      else text += String.fromCharCode(random(i % 4 === 1 ? 128 : 65_536))
    }
    yield text
  }
}
