package io.aqeplugin.decide;

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/** What a case class or a field of one means in events, tables and their documentation. Schema, writer and reader follow from it. */
@Retention(RetentionPolicy.RUNTIME)
@Target({ElementType.TYPE, ElementType.PARAMETER})
public @interface Told {
  String doc();

  /** Of a number. */
  String unit() default "";

  /** If events have another name than Scala. */
  String name() default "";

  /** May be missing in events of older plugins, and then has the default of the constructor. An Option always may. */
  boolean optional() default false;

  /** The fields of its object become fields of the object around it. */
  boolean flat() default false;

  /** What an Option of a primitive type or a JSON tree holds, which Java does not know: a kind of the event schema. */
  String kind() default "";

  /** The class whose names a text may be. */
  Class<?> names() default Object.class;
}
