import { packageTests } from '../../.scripts/vitest.ts'

export default packageTests({ longest: ['test/tasks', 'test/kills', 'test/setup'] })
