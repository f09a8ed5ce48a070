// Imports the module it is told to, where the MCP SDK cannot be loaded.
import { register } from 'node:module'

const hooks = `export function resolve(specifier, context, next) {
  if (specifier.startsWith('@modelcontextprotocol/')) throw new Error('the SDK was asked for')
  return next(specifier, context)
}`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)
await import(process.argv[2])
process.stdout.write('loaded\n')
