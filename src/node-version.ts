// Importing this file throws on a Node.js that is too old. It imports nothing and runs on every version.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 12))
  throw new Error(`punctual needs Node.js 22.12 or later; this is ${process.versions.node}`)

export {}
