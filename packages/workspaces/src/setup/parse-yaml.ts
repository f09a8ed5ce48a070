import { parse } from 'yaml'

/**
 * Loads YAML in a module of its own: the package is CommonJS, and importing it on demand from a bundle returns it
 * without names.
 */
export function parseYaml(text: string): unknown {
  return parse(text, { maxAliasCount: 0 })
}
