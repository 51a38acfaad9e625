/** 32 bits from a text: FNV-1a, then mixed to spread similar texts. Stored values depend on it. */
export function textHash(text: string): number {
  let hash = 0x811c_9dc5
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x0100_0193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
