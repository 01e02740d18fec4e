/** The test files of a bundle. The bundler inserts imports that run them. */
export const TEST_FILES: Readonly<Record<string, () => Promise<unknown>>> = {}
