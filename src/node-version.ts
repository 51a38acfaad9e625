// Importing this file throws on a Node.js that is too old. It imports nothing and runs on every version.
const needed = 'Node.js 22.22.3 or later, or 24.15 or later'

const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 22) throw new Error(`punctual needs ${needed}; this is ${process.versions.node}`)

export {}
