// Loaded by name: a static import fails on an old Node.js before any code could say which version is needed.
import '../../../node-version.ts'

export const { DatabaseSync, backup, constants } = process.getBuiltinModule('node:sqlite')
