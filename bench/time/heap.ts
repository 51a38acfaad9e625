import { peers, punctual } from './peers.ts'

/** Prints the heap bytes per parsed schedule of one library. Runs in a separate process: node --expose-gc heap.ts name count */
const [name, count] = [process.argv[2], Number(process.argv[3])]
const peer = [punctual, ...peers].find((each) => each.name === name)
if (!peer || !globalThis.gc) throw new Error('usage: node --expose-gc heap.ts <library> <count>')

const texts = Array.from({ length: count }, (_, i) => `${i % 60} ${(i * 7) % 24} * * ${i % 7}`)
peer.parse(texts[0] as string, 'Europe/Warsaw')
const kept: unknown[] = new Array(count).fill(null)
const heap = () => {
  for (let i = 0; i < 4; i++) globalThis.gc?.()
  return process.memoryUsage().heapUsed
}
const before = heap()
for (let i = 0; i < count; i++) kept[i] = peer.parse(texts[i] as string, 'Europe/Warsaw')
console.log((heap() - before) / kept.length)
