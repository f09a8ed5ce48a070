import { isSecretLike } from './secret-like.ts'

/** A command line as it may be logged: an argument that looks like a secret keeps its name and loses its value. */
export function redactArgs(args: readonly string[]): string[] {
  return args.map(argument => {
    const [name = '', ...rest] = argument.split('=')
    const value = rest.join('=')
    const key = name.split('.').at(-1) ?? ''
    if (!isSecretLike(value === '' ? '' : key, argument)) return argument
    return value === '' ? REDACTED : `${name}=${REDACTED}`
  })
}

const REDACTED = '[redacted]'
