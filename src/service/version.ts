/** The version of this library; a test compares it with the package. */

export const VERSION = '0.1.0'
