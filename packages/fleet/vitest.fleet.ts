import { fleetTests } from '../../.scripts/vitest.ts'

export default fleetTests()
