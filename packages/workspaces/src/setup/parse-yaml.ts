import { parse } from 'yaml'

/**
 * A module of its own, to be loaded on demand: the package of YAML is CommonJS, which a bundle gives back without names
 * when it is imported on demand itself.
 */
export function parseYaml(text: string): unknown {
  return parse(text, { maxAliasCount: 0 })
}
