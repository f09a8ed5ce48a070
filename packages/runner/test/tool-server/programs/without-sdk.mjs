// Imports the module it is told to, where the MCP SDK is not installed, or with a third argument one that is too old. With a
// function's name, calls that.
import { register } from 'node:module'

const [, , name, call, isOld] = process.argv
const code = isOld ? 'ERR_PACKAGE_PATH_NOT_EXPORTED' : 'ERR_MODULE_NOT_FOUND'
const hooks = `export function resolve(specifier, context, next) {
  if (!specifier.startsWith('@modelcontextprotocol/')) return next(specifier, context)
  const error = new Error("Cannot find package '@modelcontextprotocol/sdk' imported from " + context.parentURL)
  throw Object.assign(error, { code: '${code}' })
}`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)
const module = await import(name)
process.stdout.write('loaded\n')
const tool = { name: 'a', description: 'A', inputSchema: { type: 'object' }, handler: () => 'x' }
if (call === 'startToolServer') await module.startToolServer([tool])
if (call === 'serveClientTools') await module.serveClientTools({ clientTools: [tool] }, 'codex')
